package words

// Nouns are what is counted, by its English name.
var Nouns = map[string]Noun{
	"CF": CFs, "DF": DFs, "worker": Workers, "message": Messages, "wait": Waits, "event": Events, "time": Times,
	"byte":    {"byte", "bytes", [3]string{"байт", "байта", "байт"}},
	"node":    {"node", "nodes", [3]string{"узел", "узла", "узлов"}},
	"thread":  {"thread", "threads", [3]string{"поток", "потока", "потоков"}},
	"link":    {"link", "links", [3]string{"связь", "связи", "связей"}},
	"window":  {"window", "windows", [3]string{"окно", "окна", "окон"}},
	"other":   {"other", "others", [3]string{"другой", "других", "других"}},
	"copy":    {"copy", "copies", [3]string{"копия", "копии", "копий"}},
	"kind":    {"kind", "kinds", [3]string{"вид", "вида", "видов"}},
	"row":     {"row", "rows", [3]string{"строка", "строки", "строк"}},
	"group":   {"group", "groups", [3]string{"группа", "группы", "групп"}},
	"problem": {"problem", "problems", [3]string{"проблема", "проблемы", "проблем"}},
	"atomic CF": {"atomic CF", "atomic CFs", [3]string{"атомарный ФВ", "атомарных ФВ",
		"атомарных ФВ"}},
	"structured CF": {"structured CF", "structured CFs", [3]string{"структурированный ФВ",
		"структурированных ФВ", "структурированных ФВ"}},
	"more waiting": {"more CF waits", "more CFs wait",
		[3]string{"другой ФВ ждёт", "других ФВ ждут", "других ФВ ждут"}},
}
