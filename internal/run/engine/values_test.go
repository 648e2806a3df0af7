package engine_test

import "testing"

// Expressions, section 3 of the language reference.

func TestSection3_3_Numbers(t *testing.T) {
	t.Run("arithmetic", func(t *testing.T) {
		same(t, `
			sub show_r(string s, real v) { out_r(s, v); }
			sub values(int i, int big, real q)
			{
				out_r("a", 7 / 2);
				out_i("b", -7 / 2);
				out_i("c", -7 % 2);
				out_i("d", (0 - i) / 2);
				out_i("e", (0 - i) % 4);
				out_i("f", big + 1);
				out_i("g", big * 2);
				out_i("h", 3.7);
				out_i("i", -3.99);
				out_r("j", 80);
				out_r("k", 3.14159265358979);
				out_r("l", 0.0000001);
				out_i("m", 2.9999999);
				out_i("n", i * 1.5);
				out_r("o", q / 2);
				out_i("p", q * 2.5);
				out_r("q", i / 2 * 1.0);
				out_i("r", i ? 1 : 2.5);
				out_r("s", 1 / 4.0);
				show_r("t", i / 2);
				out_i("u", 1 + 2 * 3 - 4 / 2 % 3);
				out_i("v", 2 - 1 - 1);
				out_i("w", --i);
			}
			sub main() { values(7, 2147483647, 2.5); }`, `
			a=3
			b=-3
			c=-1
			d=-3
			e=-3
			f=-2147483648
			g=-2
			h=3
			i=-3
			j=80
			k=3.141593
			l=0
			m=3
			n=10
			o=1.25
			p=6
			q=3
			r=1
			s=0.25
			u=5
			v=0
			w=7
			t=3`)
	})
	t.Run("data fragments", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df n, m, r;
				put(n, 7);
				put(m, 2);
				put_r(r, 2.5);
				out_i("a", n / m);
				out_i("b", n + 1);
				out_r("c", r + 1.0);
				out_r("d", (n + 0) * 1.0 / m[0 * 1]);
				out_r("e", r / n);
				out_i("f", int(r * 1.0));
				out_i("g", r * 1.0);
				out_i("h", n > m);
				out_i("i", r < n);
				out_r("j", real(r));
				out_i("k", n % m);
				out_i("l", n * m - n);
				show("m", n + m);
				show("n", n + r);
				show("o", n == m);
				show("p", n > 3);
				show("q", 2 + 3);
				put_r(m[0], 2.0);
				out_i("r", n == 7 ? m : n);
				out_r("s", -(r + 1.0));
			}`, `
			a=3
			b=8
			c=3.5
			e=0.3571428571
			f=2
			g=2
			h=1
			i=1
			j=2.5
			k=1
			l=7
			m DF<int>(9)
			n DF<real>(9.500000)
			o DF<int>(0)
			p DF<int>(1)
			q DF<int>(5)
			r=2
			s=-3.5
			d=3.5`)
	})
	t.Run("conditions", func(t *testing.T) {
		same(t, `
			sub main()
			{
				df x, y, r;
				put(x, 5);
				put(y, 0);
				put_r(r, 0.5);
				if 0.9 say("0.9");
				if -1 say("-1");
				if x say("x");
				if y say("y");
				if x && y say("x && y");
				if x || 0 say("x || 0");
				if r * 1.0 say("r");
				if r > 0.4 say("r > 0.4");
				if x == 5 && y == 0 say("both");
				if 1 < 2 == 1 say("level");
				if 1 ? 0 : 1 ? 0 : 1 say("left");
			}`, `
			-1
			x
			x || 0
			r > 0.4
			both
			level
			left`)
	})
	t.Run("lazy", func(t *testing.T) {
		// Both sides must be there, but only one is computed.
		same(t, `
			sub main()
			{
				df x, zero;
				put(x, 5);
				put(zero, 0);
				out_i("and", zero != 0 && x / zero > 0);
				out_i("or", zero == 0 || x / zero > 0);
				out_i("cond", zero == 0 ? x : x / zero);
			}`, "and=0\nor=1\ncond=5")
		stuck(t, `
			sub main()
			{
				df x, y;
				put(x, 5);
				out_i("never", x ? x : y);
			}`, `
			the program cannot finish: 1 CF waits for data fragments that never come
			t.fa:6:5: out_i("never", x ? x : y) waits for
			y: no statement of the program makes y (declared at t.fa:4:11)`)
	})
	t.Run("to value", func(t *testing.T) {
		same(t, `
			sub f(int i, real q, string s)
			{
				df x, y, b;
				put(x, 3);
				put_r(y, 1.5);
				block(b, 1, 9);
				show("a", i ? b : x);
				show("b", 0 ? b : x);
				show("c", x > 2 ? y : x);
				show("d", (x + 0) * 1.5 + y * 1.0);
				show("e", s + "b");
				show("f", q + 1);
				show("g", i == 7);
				show("h", x / 2 - x);
				show("i", x - y * x);
				show("j", s == "t");
				show("k", x <= y);
				show("l", x != x[0 * 3 + i - i]);
				put(x[0], 4);
			}
			sub main() { f(7, 2.5, "t"); }`, `
			a DF<size=4>(09, 00, 00, 00)
			b DF<int>(3)
			c DF<real>(1.500000)
			d DF<real>(6.000000)
			e DF<string>(tb)
			f DF<real>(3.500000)
			g DF<int>(1)
			h DF<int>(-2)
			i DF<real>(-1.500000)
			j DF<int>(1)
			k DF<int>(0)
			l DF<int>(1)`)
	})
	t.Run("wrong types", func(t *testing.T) {
		const head = `
			sub main()
			{
				df x, r, s, b;
				put(x, 1);
				put_r(r, 1.5);
				put_s(s, "t");
				block(b, 1, 1);
				`
		for _, c := range []struct{ stmt, msg, luna string }{
			{`out_i("", r)`, "r holds a real, but an int is needed here", "get_int failed for type real"},
			{`out_i("", r + 1)`, "r holds a real, but an int is needed here", "get_int failed for type real"},
			{`out_r("", x + 1.0)`, "x holds an int, but a real is needed here", "get_real failed for type int"},
			{`out_r("", x)`, "x holds an int, but a real is needed here", "get_real failed for type int"},
			{`out_i("", int(r))`, "r holds a real, but an int is needed here", "get_int failed for type real"},
			{`out_r("", x + x)`, "int", "get_real failed for type int"},
			{`out_i("", x + r)`, "real", "get_int failed for type real"},
			{`out_i("", x + s)`, "+ cannot be applied to an int and a string",
				"Unsupported operand types: int + string"},
			{`out_i("", b * x)`, "* cannot be applied to a block of bytes and an int",
				"Unsupported operand types: value * int"},
			{`out_r("", int(r))`, "r holds a real, but an int is needed here", "get_int failed for type real"},
			{`say("" + int(r))`, "r holds a real, but an int is needed here", "get_int failed for type real"},
			{`out_i("", "t" == b)`, "b holds a block of bytes, but a string is needed here",
				"cast to string failed: DF<size=4>("},
			{`say("" + b)`, "b holds a block of bytes, but a string is needed here",
				"cast to string failed: DF<size=4>("},
			{`say("" + x[r])`, "r holds a real, but an int is needed here", "get_int failed for type real"},
			{`need_int(r)`, "not an int: DF<real>(1.500000)", "not an int: DF<real>(1.500000)"},
			{`out_i("", x / (x - 1))`, "division by zero", "division by zero"},
			{`out_i("", 7 % (x - 1))`, "division by zero", "division by zero"},
		} {
			t.Run(c.stmt, func(t *testing.T) { fails(t, head+c.stmt+";\n}", c.msg, c.luna, c.stmt) })
		}
		fails(t, head+"if r say(\"\");\n}", "r holds a real", "get_int failed for type real", "if r")
		fails(t, head+"for i = 0 .. s say(\"\");\n}", "s holds a string", "get_int failed for type string",
			"for i = 0 .. s")
	})
}

// A cast, a comparison, and a conditional that is an operand are evaluated first, then converted to what is
// wanted.
func TestConvertedLast(t *testing.T) {
	same(t, `
		sub main()
		{
			df x, y, q, r, n;
			put(x, 5);
			put(y, 7);
			put_r(q, 1.25);
			put_r(r, 0.5);
			out_r("a", x < y);
			out_r("b", real(x < y));
			out_r("c", int(x));
			out_r("d", 0.5 ? 1.5 : 2.5);
			out_r("e", 1 ? (1 ? 1.5 : 2.5) : 0.0);
			out_r("f", (1 ? 1.5 : 2.5) + 1.0);
			out_i("g", (1 ? 7.5 : 2.5) % 3);
			out_i("h", -(r ? 0.0 : 1.5));
			out_i("i", "5" == x);
			out_i("j", "1.250000" != q);
			say("k" + 3000000000);
			out_i("l", 3000000000 / 2);
			out_i("m", 3000000000 > x);
			out_r("n", -3000000000);
			out_i("o", 3000000000 / 1000 * x % 1000000);
			out_r("p", x % y);
			out_i("q", (0 ? 1 : 3000000000) / 2);
			out_r("r", 3 * (0 ? 3000000000 : 2147483647));
			out_r("s", 1000000000 * (0 ? 3000000000 : int(x)));
			while real(n[i - 1] < y), i = 1 .. out n[9] put(n[i], 3 * i);
			put(n[0], 0);
		}`, `
		a=1
		b=1
		c=5
		d=2.5
		e=1
		f=2
		g=1
		h=0
		i=1
		j=0
		k3000000000
		l=1500000000
		m=1
		n=-3000000000
		o=0
		p=5
		q=1500000000
		r=6442450941
		s=5000000000`)
}

// A DF that a locator needs may be indexed by another DF.
func TestLocatorOfIndexedDF(t *testing.T) {
	same(t, `
		sub main()
		{
			df w, n;
			put(n, 1);
			put(w[1], 2);
			out_i("a", w[n]) @ { locator_cyclic: w[n]; };
			out_i("b", n) @ { locator_cyclic: w[n] + w[w[1] - n]; };
			for i = 0 .. w[n] out_i("c", i) @ { locator_cyclic: w[n]; };
			if w[n] { out_i("d", n); } @ { locator_cyclic: w[n] + 1; }
		}`, "a=2\nb=1\nc=0\nc=1\nc=2\nd=1")
}

func TestSection3_4_Strings(t *testing.T) {
	same(t, `
		sub strings(string t, int i)
		{
			df x, r, s;
			put(x, 7);
			put_r(r, 2.5);
			put_s(s, "text");
			say("a " + x);
			say("b " + r);
			say("c " + s);
			say(t);
			say(t + "e");
			say("f" + (i + 1));
			say(1 + 2);
			say(x + x);
			say("i" + int(i + 1));
			say(x);
			say(r);
			say(s);
			say("m" + "n" + i);
			say("o\tp\\n");
			say("\u0022q\u0022 \u0041 % \/ \\\\");
			put_s(s[1], s + "/" + x);
			say(s[1]);
			if "text" == s say("s");
			if t == "t" say("t");
			if t != "t" say("not");
			if "text" != s say("not");
			out_i("u", "text" == s);
			show("v", "text" + s);
			say("");
		}
		sub main() { strings("t", 1); }`, `
		a 7
		b 2.500000
		c text
		t
		te
		f11
		12
		77
		i2
		7
		2.500000
		text
		mn1
		o	p

		"q" A % / \
		text/7
		u=1
		v DF<string>(texttext)

		s
		t`)
}
