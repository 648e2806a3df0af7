-- When each node held most bytes of data
-- Когда каждый узел хранил больше всего байтов данных
select node, greatest as bytes, from_ns / 1e6 as from_ms, to_ns / 1e6 as to_ms
from (select *, row_number() over (partition by node order by greatest desc, window) as place
      from series where name = 'bytes_held' and link is null)
where place = 1
order by node;
