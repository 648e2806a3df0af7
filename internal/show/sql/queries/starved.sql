-- The longest stretches in which a worker had nothing to run
-- Самые долгие промежутки, когда потоку было нечего исполнять
select p.node, p.worker, p.from_ns / 1e6 as from_ms, p.ns / 1e6 as ms, p.part,
       c.name as waited, d.name as for_data, m.name as made_by
from pieces p left join cfs c on c.cf = p.consumer left join dfs d on d.df = p.df
     left join cfs m on m.cf = p.producer
where p.factor = 'S'
order by p.ns desc
limit 20;
