-- Where user code was blocked, and who held the lock
-- Где код пользователя был заблокирован и кто держал замок
select w.name, w.what, w.site, h.name as held_by, count(*) as times, sum(w.ns) / 1e6 as ms
from waits w left join cfs f on f.cf = w.holder left join codes h on h.code = f.code
where w.blocked
group by w.name, w.what, w.site, h.name
order by ms desc
limit 20;
