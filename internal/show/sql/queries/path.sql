-- What the critical path spends its time on
-- На что уходит время критического пути
select p.name as spent_on, c.name as code, count(*) as steps, sum(p.ns) / 1e6 as ms,
       round(100.0 * sum(p.ns) / (select sum(ns) from path), 1) as percent
from path p left join cfs f using (cf) left join codes c using (code)
group by p.name, f.code
order by sum(p.ns) desc
limit 30;
