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
// Everything is printed.
addEventListener('beforeprint', () => {
  for (const d of document.querySelectorAll('details')) d.open = true;
});
