package engine_test

import (
	"slices"
	"testing"
)

// The complete examples of the language reference, with its outputs. At one worker lines come in the order
// given.

func TestSection14_3_Names(t *testing.T) {
	same(t, `
		sub diag(name m, int n) { for k = 1 .. n put(m[k][-k], k * 100); }
		sub main()
		{
			df m, sum;
			diag(m[7], 3);
			for k = 1 .. 3 {
				df local;
				put(local, m[7][k][0-k] + k);
				put(sum[k], local);
			}
			if m[7][3][-3] == 300 && sum[1] < sum[2]
				out_i("ok", sum[1] + sum[2] + sum[3]);
			for k = 5 .. 4 out_i("never", k);
		}`, "ok=606")
}

const collatz = `
	sub main()
	{
		df x, steps;
		put(x[0], 27);
		while x[t] != 1, t = 0 .. out steps {
			if x[t] % 2 == 0 put(x[t+1], x[t] / 2);
			if x[t] % 2 == 1 put(x[t+1], 3 * x[t] + 1);
		}
		out_i("steps", steps);
		out_i("last", x[steps]);
	}`

func TestSection14_4_While(t *testing.T) { same(t, collatz, "steps=111\nlast=1") }

func TestSection14_5_Let(t *testing.T) {
	same(t, `
		sub main()
		{
			df a;
			let row = a[4], n = 3 {
				put(row[n], n * n);
				for i = 0 .. n
					if i == n
						out_i("row", row[i]);
			}
		}`, "row=9")
}

func TestSection14_6_Memory(t *testing.T) {
	const src = `
		sub main()
		{
			df a, b, c, done;
			put(a, 1) @ { req_count a = 2; };
			out_i("first", a);
			put(b, a + 1);
			out_i("b", b) >> (done[0]);
			put(c, 5);
			out_i("c", c) --> (c);
			if done[0] {
				out_i("after b", b) >> (done[1]) @ { delete b; };
			} @ { delete done[0]; }
			out_i("flag", done[1]);
		}`
	same(t, src, "first=1\nb=2\nc=5\nafter b=2\nflag=1")
	o := run(t, src, one)
	if got := o.trace.destroyed("a", "b", "c", "done[0]",
		"done[1]"); got != "a expired, b deleted, c deleted, done[0] deleted, done[1] end" {
		t.Error(got)
	}
}

const places = `
	sub work(name part, int k)
	{
		out_i("part", part[k]) @ { locator_cyclic: k; };
		out_i("default", k);
	} @ {
		locator_cyclic part[i] => i + 1;
	}
	sub main()
	{
		df data;
		for k = 0 .. 2
			put(data[k], k * k) @ { locator_cyclic: k; };
		for k = 0 .. 2
			work(data, k) @ { locator_cyclic: -k; };
	} @ {
		locator_cyclic data[q] => q + 1;
	}`

func TestSection14_7_Places(t *testing.T) {
	same(t, places, "part=0\ndefault=0\npart=1\ndefault=1\npart=4\ndefault=2")
	o := run(t, places, shape{nodes: 3, workers: 1})
	ran := o.trace.ran()
	for text, want := range map[string][]int{`out_i("part", part[k])`: {0, 1, 2},
		`out_i("default", k)`: {0, 0, 0}, "put(data[k], k * k)": {0, 1, 2},
		"work(data, k)": {0, 1, 2}} {
		if got := ran[text]; !slices.Equal(got, want) {
			t.Errorf("%s ran on nodes %v, wanted %v: %v", text, got, want, ran)
		}
	}
	for df, want := range map[string][]int{"data[0]": {0, 1}, "data[1]": {1, 2}, "data[2]": {0, 2}} {
		if got := o.trace.stored(df); !slices.Equal(got, want) {
			t.Errorf("%s was stored on nodes %v, wanted %v", df, got, want)
		}
	}
}

func TestSection14_8_Recursion(t *testing.T) {
	same(t, `
		sub total(name v, int from, int to, name res)
		{
			if from == to put(res, v[from]);
			if from < to {
				df left, right;
				total(v, from, (from + to) / 2, left);
				total(v, (from + to) / 2 + 1, to, right);
				put(res, left + right) --> (left, right);
			}
		}
		sub main()
		{
			df v, s;
			for i = 1 .. 100 put(v[i], i);
			total(v, 1, 100, s);
			out_i("sum", s);
		}`, "sum=5050")
}

func TestSection14_9_Order(t *testing.T) {
	same(t, `
		sub inner() { say("inner-1"); say("inner-2"); }
		sub main()
		{
			df x;
			say("A");
			inner();
			for i = 1 .. 2 say("loop-" + i);
			say("late " + x);
			put(x, 9);
			say("early " + x);
			say("Z");
		}`, "A\nearly 9\nZ\nloop-1\nloop-2\nlate 9\ninner-1\ninner-2")
}

const push = `
	sub main()
	{
		df msg;
		cf reader: out_i("got", msg[1]) @ { wait msg[1]; };
		cf writer: put(msg[1], 77) @ { afterpush msg[1] => reader; };
	} @ {
		locator_cyclic reader => 1;
		locator_cyclic writer => 0;
	}`

func TestSection14_10_Push(t *testing.T) {
	same(t, push, "got=77")
	o := run(t, push, shape{nodes: 2, workers: 1})
	if got := o.trace.ran()[`out_i("got", msg[1])`]; !slices.Equal(got, []int{1}) {
		t.Errorf("the reader ran on nodes %v", got)
	}
	if got := o.trace.stored("msg[1]"); !slices.Equal(got, []int{1}) {
		t.Errorf("a copy was held on nodes %v", got)
	}
}

func TestSection14_11_NFParam(t *testing.T) {
	const src = `
		sub shown(name v, int upto)
		{
			for i = 0 .. upto out_i("v", v[i]);
		} @ {
			nfparam base;
			locator_cyclic v[i] => base + i;
		}
		sub main()
		{
			df v;
			for i = 0 .. 3 put(v[i], i);
			shown(v, 3) @ { nfparam base => 2; };
		} @ {
			locator_cyclic v[i] => i + 2;
		}`
	same(t, src, "v=0\nv=1\nv=2\nv=3")
	o := run(t, src, shape{nodes: 3, workers: 1})
	for df, want := range map[string][]int{"v[0]": {0, 2}, "v[1]": {0}, "v[2]": {0, 1}, "v[3]": {0, 2}} {
		if got := o.trace.stored(df); !slices.Equal(got, want) {
			t.Errorf("%s was stored on nodes %v, wanted %v", df, got, want)
		}
	}
}

func TestSection14_12_Blocks(t *testing.T) {
	same(t, `
		sub main()
		{
			df a, b, c, d;
			block(a, 4, 10);
			peek("a", a);
			put_v(b, a);
			show("b", b);
			put(c, 3);
			put(d, 4);
			add(c, d, b[1]);
			show("sum", (b[1] + 0) * 2.0 + 0.5);
		}`, "a=10\nb DF<size=16>(0A, 00, 00, 00, 0B, 00, 00, 00, 0C, 00, ...)\nsum DF<real>(14.500000)")
}
