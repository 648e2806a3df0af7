-- How long tasks were ready before a worker started them, by code fragment
-- Сколько задачи были готовы, пока поток их не начал, по фрагментам кода
select c.name, count(*) as cfs, sum(e.start_ns - f.ready_ns) / 1e6 as total_ms,
       avg(e.start_ns - f.ready_ns) / 1e6 as mean_ms, max(e.start_ns - f.ready_ns) / 1e6 as longest_ms
from cfs f join executions e using (execution) join codes c on c.code = f.code
where f.atomic and f.ready_ns <= e.start_ns
group by f.code
order by total_ms desc;
