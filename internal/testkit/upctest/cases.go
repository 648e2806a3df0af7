package upctest

// Case is a run of a program that loses time on purpose; Truth says how much by which pattern.
type Case struct {
	Name    string // short, unique
	Program string
	Args    []string // delays before, delays in flight out, how often, the program's own
	Env     []string
}

// Cases has all of the patterns, and those where the sync mode or the implementation decides. They are
// meant for four threads, and run with any number. The imbalance is that of the function work alone.
var Cases = []Case{
	{"barrier", "barrier", []string{"0,30,60,20", "0,10", "2"}, nil},
	{"barrier by GUPC", "barrier", []string{"0,30,60,20", "0", "2"}, []string{"UPC_TABLE=gupc"}},
	{"split barrier", "split", []string{"0,20", "0", "1", "10,0,30"}, nil},
	{"lock", "lock", []string{"0,5,10,15", "0", "2", "20"}, nil},
	{"lock attempts", "lock", []string{"0,5,10,15", "0", "1", "10", "try"}, nil},
	{"broadcast", "broadcast", []string{"60,0,30,10", "0", "2", "broadcast", "my/no", "0"}, nil},
	{"broadcast, all", "broadcast", []string{"30,0,50,10", "0,0,20", "1", "broadcast", "all/all", "0"}, nil},
	{"broadcast, partners", "broadcast", []string{"30,0,50,10", "0", "1", "broadcast", "my/no", "0"},
		[]string{"UPC_MYSYNC=partners"}},
	{"broadcast, none", "broadcast", []string{"30,0", "0", "1", "broadcast", "no/no", "0"}, nil},
	{"scatter", "broadcast", []string{"0,50,20", "0", "1", "scatter", "all/no", "1"}, nil},
	{"reduce", "reduce", []string{"0,30,40,50", "0", "1", "reduce", "all/no", "0"}, nil},
	{"reduce, partners", "reduce", []string{"30,40,0,50", "0", "1", "reduce", "my/no", "2"},
		[]string{"UPC_MYSYNC=partners"}},
	{"gather", "reduce", []string{"20,30,0,60", "0,10", "1", "gather", "all/all", "2"}, nil},
	{"gather, my", "reduce", []string{"0,30,40,50", "0", "1", "gather", "my/no", "0"}, nil},
	{"prefix", "prefix", []string{"0,50,10,70", "0", "1", "all/no", "0", "1"}, nil},
	{"prefix from another thread", "prefix", []string{"40,0,20,10", "0", "1", "my/no", "2", "1"}, nil},
	{"prefix, round", "prefix", []string{"0,50,10,30", "0,0,15", "1", "all/all", "1", "3"}, nil},
	{"prefix, partners", "prefix", []string{"0,50,10,70", "0", "1", "my/no", "0", "1"},
		[]string{"UPC_MYSYNC=partners"}},
	{"gather all", "nxn", []string{"0,60,30", "0,10", "1", "gather-all", "all/all"}, nil},
	{"exchange", "nxn", []string{"50,0,30", "0", "2", "exchange", "all/all"}, nil},
	{"exchange, none", "nxn", []string{"50,0,30", "0", "1", "exchange", "no/no"}, nil},
	{"permute", "nxn", []string{"20,0,50", "0", "1", "permute", "all/all"}, nil},
	{"permute, my", "inside", []string{"0,50,20,30", "0", "2", "1", "no"}, []string{"UPC_MYSYNC=partners"}},
	{"permute, my, by barrier", "inside", []string{"0,50,20,30", "0", "1", "3", "no"}, nil},
	{"allocation, thread 0 late", "alloc", []string{"60,0,30", "0", "2", "memory"}, nil},
	{"allocation, others late", "alloc", []string{"20,0,60", "0", "1", "memory"}, nil},
	{"lock allocation", "alloc", []string{"50,0,20", "0", "1", "lock"}, nil},
	{"imbalance", "imbalance", []string{"10,20,30,60", "0", "1"}, []string{"UPC_INST=functions"}},
}
