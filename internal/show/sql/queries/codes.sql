-- How often each code fragment ran, and for how long
-- Сколько раз исполнялся каждый фрагмент кода и как долго
select c.name, c.kind, count(*) as executions, sum(e.duration_ns) / 1e6 as total_ms,
       avg(e.duration_ns) / 1e6 as mean_ms, max(e.duration_ns) / 1e6 as longest_ms,
       sum(e.cpu_ns) / 1e6 as cpu_ms, c.file, c.line
from executions e join codes c using (code)
group by e.code
order by total_ms desc;
