-- Data that went to the same node several times
-- Данные, посланные одному узлу несколько раз
select d.name, m.from_node, m.to_node, count(*) as times, sum(m.bytes) as bytes
from messages m join dfs d using (df)
where m.kind = 'df'
group by m.df, m.from_node, m.to_node
having times > 1
order by bytes desc
limit 20;
