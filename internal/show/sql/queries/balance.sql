-- Useful work of each worker, and how far that is from the mean
-- Полезная работа каждого потока и её отличие от средней
with work as (
  select node, worker, sum(ns) as ns from factors where factor = 'U' and node is not null group by node, worker
)
select w.node, w.worker, coalesce(work.ns, 0) / 1e6 as useful_ms, w.executions,
       round(100.0 * coalesce(work.ns, 0) / (select sum(ns) * 1.0 / (select count(*) from workers) from work)
             - 100, 1) as above_mean_percent
from workers w left join work on work.node = w.node and work.worker = w.worker
order by useful_ms desc;
