package counters

import (
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model/query"
)

// Property is a quantity of nodes or links as it is shown.
type Property struct {
	Name  string `json:"name"`
	Of    string `json:"of"`   // "node" or "link"
	Unit  string `json:"unit"` // "count" or "bytes"
	Kind  string `json:"kind"` // "level": has a value at every moment; "amount": adds up
	Title Text   `json:"title"`
	Doc   Text   `json:"doc"`

	q      quantity
	report string // its name in the report; "" if that does not have it
}

// Text is in both languages.
type Text struct {
	En string `json:"en"`
	Ru string `json:"ru"`
}

// quantity is something that has a step function for each node or link, and for the whole run.
type quantity uint8

const (
	// The states of a CF come first, in the order of model.CFState.
	waiting quantity = iota
	ready
	running
	moving // of the whole run: CFs under way are on no node
	cfs
	weight // in units of 1/weightUnit
	copies
	bytes
	objects
	dfs // of the whole run
	inner
	outer
	readyQueue
	load // of the node's process, as is what follows
	resident
	arenas
	threads
	// Of links.
	messages
	messageBytes
	moved
	movedBytes
	data
	dataBytes
	inFlight
	bytesInFlight
	sendQueue
	flights // messages of which both ends are known, in order, when they were sent
	flightNS
	// Of nodes, over all their links; see ofLinks.
	nodeSent
	nodeSentBytes
	nodeReceived
	nodeReceivedBytes
	quantities
)

// ofLinks tells what follows from the links of a node: the sum of a quantity over those from it, or to it.
var ofLinks = map[quantity]struct {
	of   quantity
	from bool
}{nodeSent: {messages, true}, nodeSentBytes: {messageBytes, true}, nodeReceived: {messages, false},
	nodeReceivedBytes: {messageBytes, false}}

// weightUnit is how finely weights, which are floating-point numbers, are counted.
const weightUnit = 1e6

// whole stands for the whole run where a node or link is named.
const whole = int32(-1)

// table defines the quantities that are shown: what each is called on the page and in the report, its unit
// and what it means.
var table = []Property{
	{"cfs", "node", "count", "level", Text{"CFs", "ФВ"},
		Text{"CFs that exist here: from their creation to the end of their last execution. " +
			"The sum includes those in flight between nodes.",
			"ФВ, существующие на узле: от создания до конца последнего исполнения. " +
				"В сумму входят и те, что в пути между узлами."},
		cfs, "cfs"},
	{"waiting", "node", "count", "level", Text{"CFs waiting", "ФВ ожидают"},
		Text{"CFs that are neither ready nor running.",
			"ФВ, которые не готовы и не исполняются."}, waiting, "cfs_waiting"},
	{"ready", "node", "count", "level", Text{"CFs ready", "ФВ готовы"},
		Text{"CFs that are ready and have not started.",
			"ФВ, готовые к исполнению, но ещё не начатые."}, ready, "cfs_ready"},
	{"running", "node", "count", "level", Text{"CFs running", "ФВ исполняются"},
		Text{"CFs that run at once, structured ones included.",
			"Одновременно исполняемые ФВ, включая структурированные."}, running, "cfs_running"},
	{"moving", "node", "count", "level", Text{"CFs in flight", "ФВ в пути"},
		Text{"CFs in flight between two nodes; for the whole run only.",
			"ФВ в пути между узлами; только для всего запуска."}, moving, "cfs_moving"},
	{"weight", "node", "count", "level", Text{"Sum of weights", "Сумма весов"},
		Text{"Sum of the weights of the CFs that exist here.",
			"Сумма весов ФВ, существующих на узле."}, weight, ""},
	{"copies", "node", "count", "level", Text{"Copies of DFs", "Копии ФД"},
		Text{"Copies of DFs held: stored and not yet dropped. A node that received a DF twice holds two.",
			"Хранимые копии ФД: сохранённые и ещё не удалённые. " +
				"Узел, получивший ФД дважды, хранит две копии."},
		copies, "copies_held"},
	{"bytes", "node", "bytes", "level", Text{"Bytes held", "Занятая память"},
		Text{"Bytes of all copies of DFs held.",
			"Объём всех хранимых копий ФД в байтах."}, bytes, "bytes_held"},
	{"objects", "node", "count", "level", Text{"Objects", "Объекты"},
		Text{"CFs and copies of DFs.", "ФВ и копии ФД вместе."}, objects, ""},
	{"dfs", "node", "count", "level", Text{"DFs", "ФД"},
		Text{"DFs created and not yet destroyed; for the whole run only.",
			"Созданные и ещё не уничтоженные ФД; только для всего запуска."}, dfs, "dfs"},
	{"inner", "node", "count", "level", Text{"Inner relations", "Внутренние связи"},
		Text{"Edges between CFs here and the DFs kept here that they read or make.",
			"Связи между ФВ этого узла и хранимыми здесь же ФД, которые они читают или создают."}, inner, ""},
	{"outer", "node", "count", "level", Text{"Outer relations", "Внешние связи"},
		Text{"Edges between a CF and a DF that it reads or makes, of which one is here and the other elsewhere. " +
			"The sum counts each at both ends.",
			"Связи между ФВ и ФД, которые он читает или создаёт: один из них на этом узле, другой нет. " +
				"В сумме каждая учтена на обоих концах."}, outer, ""},
	{"ready_queue", "node", "count", "level", Text{"Ready queue", "Очередь готовых"},
		Text{"CFs that are ready and not started, as recorded last.",
			"ФВ, готовые и ещё не запущенные, по последней записи."}, readyQueue, "ready_queue"},
	{"load", "node", "count", "level", Text{"CPU of the process, %", "Процессор, %"},
		Text{"CPU time that the node's process takes, in percent of a core. system_module records it.",
			"Процессорное время процесса узла, в процентах одного ядра. Записывает system_module."}, load, ""},
	{"resident", "node", "bytes", "level", Text{"Memory of the process", "Память процесса"},
		Text{"Memory of the node's process that is in use. system_module records it.",
			"Занятая память процесса узла. Записывает system_module."}, resident, ""},
	{"arenas", "node", "bytes", "level", Text{"Memory of the run-time system", "Память исполнительной системы"},
		Text{"Memory that the run-time system keeps for itself and for DFs. system_module records it.",
			"Память исполнительной системы: её собственная и ФД. Записывает system_module."}, arenas, ""},
	{"threads", "node", "count", "level", Text{"Threads of the process", "Потоки процесса"},
		Text{"Threads of the node's process. system_module records them.",
			"Потоки процесса узла. Записывает system_module."}, threads, ""},
	{"sent", "node", "count", "amount", Text{"Messages sent", "Отправлено сообщений"},
		Text{"DFs and CFs that left for other nodes; puts and atomics that went there, and gets from there.",
			"ФД и ФВ, отправленные на другие узлы, а также операции put и atomic туда и операции get оттуда."},
		nodeSent, ""},
	{"sent_bytes", "node", "bytes", "amount", Text{"Bytes sent", "Отправлено байтов"},
		Text{"Bytes of these messages.", "Объём этих сообщений."}, nodeSentBytes, ""},
	{"received", "node", "count", "amount", Text{"Messages received", "Получено сообщений"},
		Text{"Messages from other nodes, when they were sent.", "Сообщения с других узлов, по времени отправки."},
		nodeReceived, ""},
	{"received_bytes", "node", "bytes", "amount", Text{"Bytes received", "Получено байтов"},
		Text{"Bytes of these messages.", "Объём этих сообщений."}, nodeReceivedBytes, ""},
	{"messages", "link", "count", "amount", Text{"Messages", "Сообщения"},
		Text{"DFs and CFs sent; puts, gets and atomics.",
			"Отправленные ФД и ФВ, операции put, get и atomic."}, messages, "messages_sent"},
	{"message_bytes", "link", "bytes", "amount", Text{"Message bytes", "Байты сообщений"},
		Text{"Bytes of these messages.", "Объём этих сообщений."}, messageBytes, "bytes_sent"},
	{"objects", "link", "count", "amount", Text{"Objects moved", "Перемещённые объекты"},
		Text{"CFs that moved to another node: migrated or stolen. " +
			"A DF that is sent is copied, not moved.",
			"ФВ, перемещённые на другой узел: миграция или перехват. " +
				"Отправленный ФД копируется, а не перемещается."},
		moved, "cfs_moved"},
	{"object_bytes", "link", "bytes", "amount", Text{"Object bytes", "Байты объектов"},
		Text{"Bytes sent for CFs that moved.",
			"Объём данных, отправленных при перемещении ФВ."}, movedBytes, ""},
	{"data_messages", "link", "count", "amount", Text{"DFs sent", "Отправленные ФД"},
		Text{"Messages with DFs, without CFs that moved.", "Сообщения с ФД, без перемещённых ФВ."}, data, ""},
	{"data_bytes", "link", "bytes", "amount", Text{"Bytes of DFs sent", "Байты отправленных ФД"},
		Text{"Bytes of messages with DFs, without CFs that moved.",
			"Объём сообщений с ФД, без перемещённых ФВ."}, dataBytes, ""},
	{"in_flight", "link", "count", "level", Text{"Messages in flight", "Сообщения в пути"},
		Text{"DFs and CFs sent and not yet received; puts, gets and atomics whose operation is not over.",
			"ФД и ФВ, отправленные и ещё не полученные; незавершённые операции put, get и atomic."},
		inFlight, "messages_in_flight"},
	{"bytes_in_flight", "link", "bytes", "level", Text{"Bytes in flight", "Байты в пути"},
		Text{"Bytes of the messages in flight.",
			"Объём сообщений в пути."}, bytesInFlight, "bytes_in_flight"},
	{"send_queue", "link", "count", "level", Text{"Send queue", "Очередь отправки"},
		Text{"Length of the queue of messages to the other node as recorded last.",
			"Длина очереди сообщений к другому узлу по последней записи."}, sendQueue, "send_queue"},
}

// propertyOf gives the property that shows a quantity.
func propertyOf(q quantity) *Property {
	if i := shownBy[q]; i > 0 {
		return &table[i-1]
	}
	return &Property{}
}

// shownBy has, by quantity, 1 + the index of its property.
var shownBy = func() (list [quantities]int) {
	for i := range table {
		list[table[i].q] = i + 1
	}
	return list
}()

// All lists the properties. The report's name of one (bytes_held for bytes of a node, cfs_moved for objects
// of a link) may be used in its place.
func All() []Property { return slices.Clone(table) }

// named gives the properties a name stands for: one of nodes, one of links, or one of each.
func named(name string) (list []*Property, err error) {
	for i := range table {
		if p := &table[i]; p.Name == name || name != "" && p.report == name {
			list = append(list, p)
		}
	}
	if list != nil {
		return list, nil
	}
	var names []string
	for i := range table {
		if !slices.Contains(names, table[i].Name) {
			names = append(names, table[i].Name)
		}
	}
	return nil, query.Bad("there is no property %q; choose one of: %s", name, strings.Join(names, ", "))
}
