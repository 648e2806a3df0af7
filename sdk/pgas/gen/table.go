package main

import "strings"

// ctype is one of the types in the names of functions, as in shmem_longlong_put.
type ctype struct{ name, c string }

func types(names string) []ctype {
	var list []ctype
	for _, n := range strings.Fields(names) {
		list = append(list, ctype{n, inC[n]})
	}
	return list
}

var inC = map[string]string{
	"char": "char", "short": "short", "int": "int", "long": "long", "longlong": "long long",
	"schar": "signed char", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int",
	"ulong": "unsigned long", "ulonglong": "unsigned long long",
	"float": "float", "double": "double", "longdouble": "long double", "complexf": "float _Complex",
	"complexd": "double _Complex",
	"int8":     "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
	"uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
	"size": "size_t", "ptrdiff": "ptrdiff_t",
}

// The sets of types of each family: those of OpenSHMEM 1.4 in Open MPI, and its extensions (shmemx).
const (
	transferTypes = "char short int long longlong schar uchar ushort uint ulong ulonglong float double " +
		"longdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 size ptrdiff"
	countTypes    = "int long longlong uint ulong ulonglong"
	valueTypes    = countTypes + " float double"
	bitTypes      = countTypes + " int32 int64 uint32 uint64"
	oldTypes      = "int long longlong"
	oldValueTypes = oldTypes + " float double"
	awaitTypes    = "short int long longlong ushort uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff"
	oldAwaitTypes = "short int long longlong"
	logicTypes    = "short int long longlong"
	orderTypes    = logicTypes + " float double longdouble"
	numberTypes   = orderTypes + " complexf complexd"
	xTypes        = "int32 int64"
	xShortTypes   = "int16 int32 int64"
	xBitTypes     = "int32 int64 uint32 uint64"
)

type family struct {
	name, about string
	functions   []function
}

func groups() []family {
	return []family{
		{"put", "Functions that write to a PE's memory.", puts()},
		{"get", "Functions that read a PE's memory.", gets()},
		{"atomic", "Functions that change a value in a PE's memory atomically.", atomics()},
		{"collective", "Functions that all PEs of a set call together.", collectives()},
		{"sync", "Functions that wait for a value, a lock or a transfer; contexts.", waits()},
	}
}

var (
	pe      = param{"int ", "pe"}
	context = param{"wss_ctx ", "ctx"}
	count   = param{"size_t ", "n"}
	strides = []param{{"ptrdiff_t ", "tst"}, {"ptrdiff_t ", "sst"}}
	members = []param{{"int ", "first"}, {"int ", "log_stride"}, {"int ", "members"}}
	psync   = param{"long *", "psync"}
)

// withContexts adds to each function the one that does the same in a given context.
func withContexts(list []function) []function {
	var out []function
	for _, f := range list {
		g := f
		g.name = strings.Replace(f.name, "shmem_", "shmem_ctx_", 1)
		g.params = append([]param{context}, f.params...)
		if strings.HasSuffix(f.macro, "_NBI") {
			f.extra = append(f.extra[:len(f.extra):len(f.extra)], "0")
			g.extra = append(g.extra[:len(g.extra):len(g.extra)], "ctx")
		}
		out = append(out, f, g)
	}
	return out
}

// blocks returns the functions that move n elements of a type or size: at once, not waiting, strided.
func blocks(macro, prefix, suffix, op, c, size string, strided bool) []function {
	target, source := param{c + " *", "target"}, param{"const " + c + " *", "source"}
	plain := []param{target, source, count, pe}
	list := []function{
		{macro, "", prefix + op + suffix, plain, []string{"n * " + size}},
		{macro + "_NBI", "", prefix + op + suffix + "_nbi", plain, []string{"n * " + size}},
	}
	if strided {
		list = append(list, function{macro, "", prefix + "i" + op + suffix,
			append(append([]param{target, source}, strides...), count, pe), []string{"n * " + size}})
	}
	return list
}

func transfers(macro, op string) []function {
	var list []function
	for _, t := range types(transferTypes) {
		list = append(list, blocks(macro, "shmem_"+t.name+"_", "", op, t.c, "sizeof("+t.c+")", true)...)
	}
	for _, s := range []struct{ bits, bytes string }{{"8", "1"}, {"16", "2"}, {"32", "4"}, {"64", "8"},
		{"128", "16"}} {
		list = append(list, blocks(macro, "shmem_", s.bits, op, "void", s.bytes, true)...)
	}
	return append(list, blocks(macro, "shmem_", "mem", op, "void", "1", false)...)
}

// moves returns the functions that move blocks of values, and those that value makes for one.
func moves(macro, op string, value func(prefix string, t ctype) function) []function {
	list := transfers(macro, op)
	for _, t := range types(transferTypes) {
		list = append(list, value("shmem_", t))
	}
	list = withContexts(list)
	for _, t := range types(xShortTypes) {
		list = append(list, value("shmemx_", t))
	}
	return list
}

func puts() []function {
	return moves("WSS_PUT", "put", func(prefix string, t ctype) function {
		return function{"WSS_P", "", prefix + t.name + "_p",
			[]param{{t.c + " *", "target"}, {t.c + " ", "value"}, pe}, []string{"sizeof(" + t.c + ")"}}
	})
}

func gets() []function {
	return moves("WSS_GET", "get", func(prefix string, t ctype) function {
		return function{"WSS_G", t.c, prefix + t.name + "_g", []param{{"const " + t.c + " *", "source"}, pe},
			[]string{"sizeof(" + t.c + ")"}}
	})
}

// atomic returns an atomic function. Form: "f" has a result, "v" a value, "c" compares, "k" keeps the target.
func atomic(prefix, op, form string, t ctype) function {
	f := function{"WSS_ATOMIC", "", prefix + t.name + "_" + op, []param{{t.c + " *", "target"}},
		[]string{"sizeof(" + t.c + ")"}}
	if strings.Contains(form, "k") {
		f.params[0].typ = "const " + t.c + " *"
	}
	if strings.Contains(form, "c") {
		f.params = append(f.params, param{t.c + " ", "condition"})
	}
	if strings.Contains(form, "v") {
		f.params = append(f.params, param{t.c + " ", "value"})
	}
	if strings.Contains(form, "f") {
		f.macro, f.result = "WSS_FETCH", t.c
	}
	f.params = append(f.params, pe)
	return f
}

func atomics() []function {
	var list []function
	add := func(prefix, names string, ops ...[2]string) {
		for _, t := range types(names) {
			for _, op := range ops {
				list = append(list, atomic(prefix, op[0], op[1], t))
			}
		}
	}
	bits := [][2]string{{"atomic_and", "v"}, {"atomic_or", "v"}, {"atomic_xor", "v"},
		{"atomic_fetch_and", "fv"}, {"atomic_fetch_or", "fv"}, {"atomic_fetch_xor", "fv"}}
	values := [][2]string{{"fetch", "fk"}, {"set", "v"}, {"swap", "fv"}}
	counts := [][2]string{{"inc", ""}, {"add", "v"}, {"finc", "f"}, {"fadd", "fv"}, {"cswap", "fcv"}}
	add("shmem_", countTypes, [][2]string{{"atomic_inc", ""}, {"atomic_add", "v"},
		{"atomic_fetch_inc", "f"}, {"atomic_fetch_add", "fv"}, {"atomic_compare_swap", "fcv"}}...)
	add("shmem_", valueTypes, [][2]string{{"atomic_fetch", "fk"}, {"atomic_set", "v"}, {"atomic_swap", "fv"}}...)
	add("shmem_", bitTypes, bits...)
	list = withContexts(list)
	add("shmem_", oldValueTypes, values...)
	add("shmem_", oldTypes, counts...)
	add("shmemx_", xTypes, values...)
	add("shmemx_", xTypes, counts...)
	add("shmemx_", xBitTypes, bits...)
	return list
}

// collective returns a function of an active set. sent and received are the bytes of one member, in C. For
// shmem_collect, members count as if all contributed alike.
func collective(name, c, kind string, own []param, root, sent, received string, work ...param) function {
	params := append([]param{{c + " *", "target"}, {"const " + c + " *", "source"}}, own...)
	params = append(append(append(params, members...), work...), psync)
	return function{"WSS_COLLECTIVE", "", name, params, []string{kind, root, sent, received}}
}

func collectives() []function {
	all := func(name, completes string) function {
		return function{"WSS_ALL", "", name, nil, []string{completes}}
	}
	set := func(name, completes string) function {
		return function{"WSS_SET", "", name, append(members[:len(members):len(members)], psync),
			[]string{completes}}
	}
	list := []function{
		all("shmem_barrier_all", "1"), all("shmem_sync_all", "0"),
		set("shmem_barrier", "1"), set("shmem_sync", "0"),
	}
	for _, s := range []struct{ bits, bytes string }{{"32", "n * 4"}, {"64", "n * 8"}} {
		others := s.bytes + " * wss_others(members)"
		root := []param{count, {"int ", "root"}}
		list = append(list,
			collective("shmem_broadcast"+s.bits, "void", "WSC_BROADCAST", root, "root", others, s.bytes),
			collective("shmem_collect"+s.bits, "void", "WSC_COLLECT", []param{count}, "-1", others, others),
			collective("shmem_fcollect"+s.bits, "void", "WSC_COLLECT", []param{count}, "-1", others, others),
			collective("shmem_alltoall"+s.bits, "void", "WSC_EXCHANGE", []param{count}, "-1", others, others),
			collective("shmem_alltoalls"+s.bits, "void", "WSC_EXCHANGE",
				append(strides[:len(strides):len(strides)], count), "-1", others, others))
	}
	reduce := func(prefix, names string, ops ...string) {
		for _, op := range ops {
			for _, t := range types(names) {
				bytes := "(size_t)n * sizeof(" + t.c + ")"
				list = append(list, collective(prefix+t.name+"_"+op+"_to_all", t.c, "WSC_ALL_REDUCE",
					[]param{{"int ", "n"}}, "-1", bytes, bytes, param{t.c + " *", "work"}))
			}
		}
	}
	reduce("shmem_", logicTypes, "and", "or", "xor")
	reduce("shmem_", orderTypes, "max", "min")
	reduce("shmem_", numberTypes, "sum", "prod")
	reduce("shmemx_", xShortTypes, "and", "or", "xor", "max", "min", "sum", "prod")
	size := param{"size_t ", "size"}
	old := param{"void *", "old"}
	allocate := func(name string, params ...param) {
		was, bytes := "0", "size" // what is allocated anew, and how much
		switch params[0] {
		case old:
			was = "old"
		case count:
			bytes = "n * size"
		}
		list = append(list, function{"WSS_ALLOC", "void *", name, params, []string{was, bytes}})
	}
	for _, n := range []struct{ alloc, align, realloc, free string }{
		{"shmem_malloc", "shmem_align", "shmem_realloc", "shmem_free"},
		{"shmalloc", "shmemalign", "shrealloc", "shfree"},
	} {
		allocate(n.alloc, size)
		allocate(n.align, param{"size_t ", "alignment"}, size)
		allocate(n.realloc, old, size)
		list = append(list, function{"WSS_FREE", "", n.free, []param{old}, nil})
	}
	allocate("shmem_calloc", count, size)
	allocate("shmemx_malloc_with_hint", size, param{"long ", "hint"})
	return list
}

func waits() []function {
	var list []function
	comparison := param{"int ", "comparison"}
	await := func(macro, result, name, c string, compared bool) {
		params := []param{{c + " *", "address"}}
		if compared {
			params = append(params, comparison)
		}
		value := param{strings.TrimPrefix(c, "volatile ") + " ", "value"}
		list = append(list, function{macro, result, name, append(params, value), nil})
	}
	for _, t := range types(oldAwaitTypes) {
		await("WSS_AWAIT", "", "shmem_"+t.name+"_wait", "volatile "+t.c, false)
	}
	await("WSS_AWAIT", "", "shmem_wait", "volatile long", false)
	for _, t := range types(awaitTypes) {
		await("WSS_AWAIT", "", "shmem_"+t.name+"_wait_until", "volatile "+t.c, true)
	}
	for _, t := range types(xTypes) {
		await("WSS_AWAIT", "", "shmemx_"+t.name+"_wait", t.c, false)
		await("WSS_AWAIT", "", "shmemx_"+t.name+"_wait_until", t.c, true)
	}
	for _, t := range types(awaitTypes) {
		await("WSS_TEST", "int", "shmem_"+t.name+"_test", "volatile "+t.c, true)
	}
	lock := []param{{"volatile long *", "lock"}}
	return append(list, function{"WSS_SET_LOCK", "", "shmem_set_lock", lock, nil},
		function{"WSS_CLEAR_LOCK", "", "shmem_clear_lock", lock, nil},
		function{"WSS_TEST_LOCK", "int", "shmem_test_lock", lock, nil},
		function{"WSS_QUIET", "", "shmem_quiet", nil, []string{"0"}},
		function{"WSS_QUIET", "", "shmem_ctx_quiet", []param{context}, []string{"ctx"}},
		function{"WSS_FENCE", "", "shmem_fence", nil, nil},
		function{"WSS_FENCE", "", "shmem_ctx_fence", []param{context}, nil},
		function{"WSS_CTX_CREATE", "int", "shmem_ctx_create",
			[]param{{"long ", "options"}, {"wss_ctx *", "ctx"}}, nil},
		function{"WSS_CTX_DESTROY", "", "shmem_ctx_destroy", []param{context}, nil})
}

// byHand are the functions whose wrappers are written out in shmem.c.
var byHand = []string{"shmem_init", "shmem_init_thread", "start_pes", "shmem_finalize", "shmem_global_exit"}

// left are the functions with a second name that are not wrapped, and why.
var left = map[string]string{
	"shmem_my_pe": query, "shmem_n_pes": query, "_my_pe": query, "_num_pes": query, "my_pe": query,
	"num_pes":   query,
	"shmem_ptr": query, "shmem_addr_accessible": query, "shmem_pe_accessible": query,
	"shmem_info_get_name": query, "shmem_info_get_version": query, "shmem_query_thread": query,
	"shmem_set_cache_inv": nothing, "shmem_set_cache_line_inv": nothing, "shmem_clear_cache_inv": nothing,
	"shmem_clear_cache_line_inv": nothing, "shmem_udcflush": nothing, "shmem_udcflush_line": nothing,
}

const (
	query   = "asks for a number that the PE itself has: takes no time worth telling"
	nothing = "does nothing on processors with coherent caches"
)
