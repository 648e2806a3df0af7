'use strict';
// Sorts a table when one of its heads is pressed: numbers falling first, words rising first.
for (const table of document.querySelectorAll('table.sortable')) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    const numeric = head.classList.contains('n');
    button.addEventListener('click', () => {
      const before = head.getAttribute('aria-sort');
      const falling = before ? before === 'ascending' : numeric;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
      const value = row => {
        const cell = row.cells[column];
        if (!cell) return numeric ? -Infinity : '';
        const v = cell.dataset.v ?? cell.textContent;
        return numeric ? Number(v) : v;
      };
      const body = table.tBodies[0];
      const rows = [...body.rows], fixed = rows.filter(r => r.classList.contains('fixed'));
      const sorted = rows.filter(r => !r.classList.contains('fixed')).sort((a, b) => {
        const x = value(a), y = value(b);
        const order = numeric ? x - y : x.localeCompare(y, 'en', {numeric: true});
        return falling ? -order : order;
      });
      body.append(...sorted, ...fixed);
    });
  });
}
// The three columns: a metric fills the call paths, a call path the threads.
for (const cube of document.querySelectorAll('.cube')) {
  const data = JSON.parse(cube.querySelector('script').textContent);
  const [metrics, calls, threads] = [...cube.querySelectorAll('tbody')].map(body => [...body.rows]);
  const chosen = {metric: 0, call: -1};
  // Numbers as the report writes them.
  const lang = document.documentElement.lang;
  const bytes = {en: {one: 'byte', other: 'bytes'}, ru: {one: 'байт', few: 'байта', many: 'байт'}}[lang];
  const fixed = (x, digits, name) => x.toFixed(digits).replace('.', lang === 'ru' ? ',' : '.') + ' ' + name;
  const write = v => {
    const unit = data.units[chosen.metric];
    if (unit === 'ns') {
      for (let i = 3, one = 1e9; i > 0; i--, one /= 1e3) {
        const x = v / one;
        if (x >= 0.9995) return fixed(x, x >= 100 ? 0 : x >= 10 ? 1 : 2, data.time[i]);
      }
      return `${v} ${data.time[0]}`;
    }
    if (unit !== 'bytes') return String(v);
    if (v < 1000) return `${v} ${bytes[new Intl.PluralRules(lang).select(v)]}`;
    let x = v / 1000, i = 1;
    for (; x >= 1000 && i < data.size.length - 1; i++) x /= 1000;
    return fixed(x, 1, data.size[i]);
  };
  const fill = (row, values, part) => {
    values.forEach((v, i) => { row.cells[i + 1].textContent = write(v); row.cells[i + 1].dataset.v = v; });
    const width = (100 * Math.min(Math.max(part || 0, 0), 1)).toFixed(2) + '%';
    row.querySelector('rect').setAttribute('width', width);
    row.classList.toggle('zero', !values[0]);
  };
  const show = () => {
    const own = calls.map(() => 0), byThread = threads.map(() => 0);
    const below = i => { // is call path i the chosen one, or below it
      for (let at = i; at >= 0; at = data.calls[at]) if (at === chosen.call) return true;
      return chosen.call < 0;
    };
    for (const [call, values] of data.rows[chosen.metric]) {
      const counts = below(call);
      values.forEach((v, t) => { own[call] += v; if (counts) byThread[t] += v; });
    }
    const all = [...own];
    for (let i = all.length - 1; i >= 0; i--) if (data.calls[i] >= 0) all[data.calls[i]] += all[i];
    const sum = list => list.reduce((a, b) => a + b, 0);
    calls.forEach((row, i) => fill(row, [all[i], own[i]], all[i] / sum(own)));
    threads.forEach((row, i) => fill(row, [byThread[i]], byThread[i] / sum(byThread)));
    metrics.forEach((row, i) => row.classList.toggle('chosen', i === chosen.metric));
    calls.forEach((row, i) => row.classList.toggle('chosen', i === chosen.call));
    for (const [rows, at] of [[metrics, chosen.metric], [calls, chosen.call]]) {
      rows.forEach((row, i) => {
        row.querySelector('button.choose').setAttribute('aria-pressed', String(i === at));
      });
    }
  };
  const tree = (rows, parents, choose) => {
    const folded = new Set();
    const fold = () => rows.forEach((row, i) => {
      row.hidden = false;
      for (let at = parents[i]; at >= 0; at = parents[at]) if (folded.has(at)) row.hidden = true;
    });
    rows.forEach((row, i) => {
      const name = document.createElement('button');
      name.type = 'button';
      name.className = 'choose';
      name.append(...row.cells[0].childNodes);
      name.addEventListener('click', () => { choose(i); show(); });
      const toggle = document.createElement('button');
      toggle.type = 'button';
      toggle.className = 'fold';
      if (parents.includes(i)) {
        const draw = () => {
          toggle.textContent = folded.has(i) ? '\u25b8' : '\u25be';
          toggle.setAttribute('aria-expanded', String(!folded.has(i)));
          toggle.setAttribute('aria-label', 'below ' + name.textContent);
        };
        toggle.addEventListener('click', () => { if (!folded.delete(i)) folded.add(i); draw(); fold(); });
        draw();
      } else {
        toggle.hidden = true;
      }
      row.cells[0].append(toggle, name);
    });
  };
  tree(metrics, data.metric, i => { chosen.metric = i; });
  tree(calls, data.calls, i => { chosen.call = chosen.call === i ? -1 : i; });
  show();
}
// Everything is printed.
addEventListener('beforeprint', () => {
  for (const d of document.querySelectorAll('details')) d.open = true;
});
