-- How each node's time divides among the factors, in per cent
-- Как время каждого узла делится между факторами, в процентах
select coalesce(node, 'run') as node,
       round(100.0 * total(ns) filter (where factor = 'U') / sum(ns), 1) as U,
       round(100.0 * total(ns) filter (where factor = 'S') / sum(ns), 1) as S,
       round(100.0 * total(ns) filter (where factor = 'L') / sum(ns), 1) as L,
       round(100.0 * total(ns) filter (where factor = 'O') / sum(ns), 1) as O,
       round(100.0 * total(ns) filter (where factor = 'W') / sum(ns), 1) as W,
       sum(ns) / 1e6 as ms
from factors
group by node;
