// Written by go generate ./web from internal/words, which says these words in reports too. Do not edit.

export const timeUnits = {
  "en": ["ns","µs","ms","s"],
  "ru": ["нс","мкс","мс","с"],
};

export const byteUnits = {
  "en": ["B","KB","MB","GB","TB"],
  "ru": ["Б","КБ","МБ","ГБ","ТБ"],
};

export const perSecond = {
  "en": "/s",
  "ru": "/с",
};

export const nouns = {
  "CF": {"en":["CF","CFs"],"ru":["ФВ","ФВ","ФВ"]},
  "DF": {"en":["DF","DFs"],"ru":["ФД","ФД","ФД"]},
  "atomic CF": {"en":["atomic CF","atomic CFs"],"ru":["атомарный ФВ","атомарных ФВ","атомарных ФВ"]},
  "byte": {"en":["byte","bytes"],"ru":["байт","байта","байт"]},
  "copy": {"en":["copy","copies"],"ru":["копия","копии","копий"]},
  "event": {"en":["event","events"],"ru":["событие","события","событий"]},
  "group": {"en":["group","groups"],"ru":["группа","группы","групп"]},
  "kind": {"en":["kind","kinds"],"ru":["вид","вида","видов"]},
  "link": {"en":["link","links"],"ru":["связь","связи","связей"]},
  "message": {"en":["message","messages"],"ru":["сообщение","сообщения","сообщений"]},
  "more waiting": {"en":["more CF waits","more CFs wait"],"ru":["другой ФВ ждёт","других ФВ ждут","других ФВ ждут"]},
  "node": {"en":["node","nodes"],"ru":["узел","узла","узлов"]},
  "other": {"en":["other","others"],"ru":["другой","других","других"]},
  "problem": {"en":["problem","problems"],"ru":["проблема","проблемы","проблем"]},
  "structured CF": {"en":["structured CF","structured CFs"],"ru":["структурированный ФВ","структурированных ФВ","структурированных ФВ"]},
  "thread": {"en":["thread","threads"],"ru":["поток","потока","потоков"]},
  "time": {"en":["time","times"],"ru":["раз","раза","раз"]},
  "window": {"en":["window","windows"],"ru":["окно","окна","окон"]},
  "worker": {"en":["worker","workers"],"ru":["рабочий поток","рабочих потока","рабочих потоков"]},
};

export const factors = {
  "L": {"class":"l","cutOut":false,"dark":"#3e9fe0","hint":{"en":"A CF was ready but for data that was on its way from another node","ru":"ФВ был бы готов, но данные ещё идут с другого узла"},"light":"#0072b2","name":{"en":"Latency","ru":"Задержка связи"},"order":2},
  "O": {"class":"o","cutOut":false,"dark":"#d48fb6","hint":{"en":"The system's own work: dispatching, creating CFs, managing data","ru":"Работа самой системы: диспетчеризация, создание ФВ, управление данными"},"light":"#cc79a7","name":{"en":"Overhead","ru":"Накладные расходы"},"order":3},
  "S": {"class":"s","cutOut":false,"dark":"#e8782a","hint":{"en":"No CF was ready to run: not enough work for the workers at this time","ru":"Нет ни одного готового ФВ: в это время рабочим потокам не хватает работы"},"light":"#d55e00","name":{"en":"Starvation","ru":"Голодание"},"order":1},
  "U": {"class":"u","cutOut":false,"dark":"#1bb389","hint":{"en":"Running CFs","ru":"Выполнение ФВ"},"light":"#009e73","name":{"en":"Useful work","ru":"Полезная работа"},"order":0},
  "W": {"class":"w","cutOut":true,"dark":"#f0d04a","hint":{"en":"Waiting for something outside: a lock, a device, the processor","ru":"Ожидание внешнего: блокировки, устройства, процессора"},"light":"#e6b800","name":{"en":"Waiting","ru":"Ожидание"},"order":4},
  "loss": {"class":"x","cutOut":true,"dark":"#7d8590","hint":{"en":"Events of this time were lost or not recorded","ru":"События этого времени потеряны или не записаны"},"light":"#8b929c","name":{"en":"Not recorded","ru":"Не записано"},"order":5},
  "undivided": {"class":"x","cutOut":false,"dark":"#7d8590","hint":{"en":"Events that are needed to say what this time went to were not recorded, or have not come yet","ru":"События, по которым видно, на что ушло это время, не записаны или ещё не пришли"},"light":"#8b929c","name":{"en":"Not known","ru":"Не известно"},"order":6},
} as const;

export const parts = {
  "create": {"en":"creating CFs","ru":"создание ФВ"},
  "deliver": {"en":"from arrival to ready","ru":"от прихода ФД до готовности ФВ"},
  "dispatch": {"en":"from ready to start","ru":"от готовности ФВ до старта"},
  "elsewhere": {"en":"ready on other nodes","ru":"готовое есть на других узлах"},
  "end": {"en":"after it had ended","ru":"после его конца"},
  "extra": {"en":"cores beyond the workers","ru":"ядра сверх рабочих потоков"},
  "here": {"en":"ready on this node","ru":"готовое есть на этом узле"},
  "nowhere": {"en":"nothing ready anywhere","ru":"готового нет нигде"},
  "preempt": {"en":"pre-empted","ru":"процессор отобран"},
  "request": {"en":"before DFs are requested","ru":"до запроса ФД"},
  "runtime": {"en":"the run-time system","ru":"исполнительная система"},
  "send": {"en":"before DFs are sent","ru":"до отправки ФД"},
  "start": {"en":"before the thread began","ru":"до начала потока"},
  "steal": {"en":"stealing CFs","ru":"перехват ФВ"},
};
