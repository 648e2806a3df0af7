-- Which variables take most bytes
-- Какие переменные занимают больше всего байтов
select variable, count(*) as dfs, sum(bytes) as bytes, max(bytes) as largest
from dfs
group by variable
order by bytes desc
limit 20;
