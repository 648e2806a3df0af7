-- Time by pattern of waiting and call path, in runs with regions
-- Время по шаблонам ожидания и путям вызовов, в запусках с областями
select p.metric, c.path, sum(p.value) / 1e6 as ms, count(*) as threads
from patterns p join calls c using (call)
where p.unit = 'ns'
group by p.metric, p.call
order by ms desc
limit 30;
