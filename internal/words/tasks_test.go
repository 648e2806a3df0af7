package words

import "testing"

// TestOfTasks: sentences have the words of OpenMP; what is the program's own stays.
func TestOfTasks(t *testing.T) {
	inner := Say("in %s of worker %s", "в %s рабочего потока %s", Number{1, CFs}, "CF worker")
	for _, c := range []struct {
		text Text
		want [2]string
	}{
		{Say("CFs wait for DFs. Workers run a CF.", "Рабочие потоки исполняют ФВ."),
			[2]string{"Tasks wait for dependences. Threads run a task.", "Потоки исполняют ФВ."}},
		{Say("Threads other than the workers: %s", "Помимо рабочих потоков: %s", "1"),
			[2]string{"Threads that run no tasks: 1", "Помимо потоков с задачами: 1"}},
		{Say("%s: %s", "%s: %s", Number{40, CFs}, inner),
			[2]string{"40 tasks: in 1 task of thread CF worker", "40 ФВ: в 1 ФВ потока CF worker"}},
		{Say("With %s", "С %s", Number{3, WithWorkers}), [2]string{"With 3 threads", "С 3 потоками"}},
		{Say("the code fragments' other threads", "прочие потоки"),
			[2]string{"the constructs' other threads", "прочие потоки"}},
	} {
		for l, want := range c.want {
			if got := c.text.OfTasks().In(Lang(l)); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}
