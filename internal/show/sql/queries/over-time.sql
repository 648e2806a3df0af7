-- How the factors change: twenty slices of the run
-- Как меняются факторы: двадцать отрезков запуска
with recursive slices(n) as (select 0 union all select n + 1 from slices where n < 19),
ends as (select n, n * wall_ns / 20 as a, (n + 1) * wall_ns / 20 as b from slices, runs),
part as (
  select n, a, factor, sum(min(to_ns, b) - max(from_ns, a)) as ns
  from pieces join ends on from_ns < b and to_ns > a
  group by n, factor
)
select a / 1e6 as from_ms,
       round(100.0 * sum(ns) filter (where factor = 'U') / sum(ns), 1) as U,
       round(100.0 * sum(ns) filter (where factor = 'S') / sum(ns), 1) as S,
       round(100.0 * sum(ns) filter (where factor = 'L') / sum(ns), 1) as L,
       round(100.0 * sum(ns) filter (where factor = 'O') / sum(ns), 1) as O,
       round(100.0 * sum(ns) filter (where factor = 'W') / sum(ns), 1) as W
from part
group by n;
