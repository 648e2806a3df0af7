-- Who waited longest for whom, and for what
-- Кто дольше всех ждал кого и чего
select consumer, producer, variable, factor, part, link, ns / 1e6 as ms, count
from causes
order by ns desc
limit 20;
