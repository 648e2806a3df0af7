-- The longest executions of user code
-- Самые долгие исполнения кода пользователя
select f.name, e.node, e.worker, e.start_ns / 1e6 as start_ms, e.duration_ns / 1e6 as ms,
       e.cpu_ns / 1e6 as cpu_ms
from executions e join cfs f using (cf)
where e.atomic
order by e.duration_ns desc
limit 20;
