package doctor

import "testing"

func TestComplaint(t *testing.T) {
	const rule = "--------------------------------------------------------------------------\n"
	for _, test := range []struct{ stderr, want string }{
		{"", ""},
		{rule + "mpirun was unable to launch the specified application as it could not access\nor execute an " +
			"executable:\n\nExecutable: /nonexist\nNode: vm\n" + rule,
			"mpirun was unable to launch the specified application as it could not access or execute an executable: " +
				"Executable: /nonexist Node: vm"},
		{"[vm:17969] [[10959,0],0] ORTE_ERROR_LOG: Data unpack would read past end of buffer in file " +
			"show_help.c\n" + rule +
			"It looks like MPI_INIT failed for some reason; your parallel process is\nlikely to abort.  There are " +
			"many reasons.\n\n  mca_bml_base_open() failed\n  --> Returned \"Not found\"\n" + rule +
			"[vm:17973] *** An error occurred in MPI_Init_thread\n",
			"It looks like MPI_INIT failed for some reason; your parallel process is likely to abort. " +
				"mca_bml_base_open() failed --> Returned \"Not found\""},
		{"whyslow: rank 1: MPI: no threads\n", "whyslow: rank 1: MPI: no threads"},
	} {
		if got := complaint(test.stderr); got != test.want {
			t.Errorf("%q:\ngot  %s\nwant %s", test.stderr, got, test.want)
		}
	}
}

func TestBinding(t *testing.T) {
	if f := binding([]RankFacts{{Cores: 2}, {Cores: 2}}, 2); f.Advice != "" ||
		f.Value != "each rank may use 2 of 2 cores" {
		t.Errorf("not bound: %+v", f)
	}
	if f := binding([]RankFacts{{Cores: 4}, {Cores: 1}}, 4); f.Advice == "" || !f.OK {
		t.Errorf("bound: %+v", f)
	}
}
