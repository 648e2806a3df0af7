-- What went over each link, and how long it was in flight
-- Что прошло по каждой связи и сколько было в пути
select from_node, to_node, kind, count(*) as messages, sum(bytes) as bytes,
       avg(flight_ns) / 1e3 as mean_us, max(flight_ns) / 1e3 as longest_us
from messages
group by from_node, to_node, kind
order by bytes desc;
