package advise

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/words"
)

// Advice on messages between ranks, of MPI programs.

// inMessages are the patterns of messages and signals. Other advice is about collectives.
var inMessages = map[string]bool{"late-sender": true, "wrong-order": true, "late-receiver": true,
	"late-post": true, "early-wait": true, "late-complete": true}

// ofRanks tells whether threads are called ranks.
func (a *advisor) ofRanks() bool { return a.facts != nil && a.facts.m.MPI() }

// ofMessages looks at them.
func (a *advisor) ofMessages() {
	a.lateSender()
	a.wrongOrder()
	a.lateReceiver()
	a.serialChain()
	a.joinMessages()
	a.hideMessages()
	a.hideCollectives()
}

// lateIn sums up who was late in some patterns: the sums of all, the one who made others wait longest, with
// what it did meanwhile, and the call path where most was lost.
func (a *advisor) lateIn(ids ...string) (s lateSums) {
	p := a.Pattern
	of, calls, doing := map[int]int64{}, map[int]int64{}, map[int]map[int]int64{}
	for i := range p.Late {
		l := &p.Late[i]
		if !slices.Contains(ids, p.Metrics[l.Metric].ID) {
			continue
		}
		s.lost, s.work, s.times = s.lost+l.NS, s.work+l.WorkNS, s.times+l.Count
		of[l.Thread] += l.NS
		calls[l.Call] += l.NS
		if doing[l.Thread] == nil {
			doing[l.Thread] = map[int]int64{}
		}
		for _, d := range l.Doing {
			doing[l.Thread][d.Call] += d.NS
		}
	}
	s.thread, s.caused = most(of, cmp.Compare)
	s.call, _ = most(calls, cmp.Compare)
	s.doing, s.did = most(doing[s.thread], cmp.Compare)
	return s
}

type lateSums struct {
	lost, work, times int64
	thread            int
	caused            int64 // what others lost to it
	call              int
	doing             int // call path
	did               int64
}

// meanwhile says what the late thread did.
func (a *advisor) meanwhile(s *lateSums) words.Text {
	if s.did == 0 {
		return words.Say("", "")
	}
	if s.doing == 0 || a.region(s.doing).Kind == "function" {
		return words.Say(" Thread %s caused %s of it; meanwhile it worked in %s (%s).",
			" Из-за потока %s потеряно %s; он в это время работал в %s (%s).", a.thread(s.thread),
			words.Time(s.caused), a.callPath(s.doing), words.Time(s.did))
	}
	return words.Say(" Thread %s caused %s of it; meanwhile it was in %s (%s).",
		" Из-за потока %s потеряно %s; он в это время был в %s (%s).", a.thread(s.thread), words.Time(s.caused),
		a.callPath(s.doing), words.Time(s.did))
}

func (a *advisor) lateEvidence(s *lateSums) map[string]any {
	e := map[string]any{"thread": a.thread(s.thread), "lost_ns": s.caused, "all_lost_ns": s.lost,
		"work_ns": s.work, "call": a.callPath(s.call), "times": s.times}
	if s.did > 0 {
		e["doing"], e["doing_ns"] = a.callPath(s.doing), s.did
	}
	return e
}

// lateSender: receivers wait for messages that are not sent yet.
func (a *advisor) lateSender() {
	s := a.lateIn("late-sender", "wrong-order")
	if s.lost == 0 {
		return
	}
	how := words.Say("Divide the work so that senders arrive as early as receivers.",
		"Делите работу так, чтобы отправители приходили не позже получателей.")
	switch works := s.doing == 0 || a.region(s.doing).Kind == "function"; {
	case !works:
		how = words.Say("Look there first: it came late for a reason other than work.",
			"Начните с этого: он опаздывал не из-за работы.")
	case float64(s.caused) >= steady*float64(s.lost):
		how = words.Say("Give it less of that work, or let it send before it works.",
			"Дайте ему меньше этой работы или отправляйте сообщение до неё.")
	}
	bound := words.Say("Receivers waited that long while senders worked; with that work spread evenly, or done "+
		"after sending, they would not.",
		"Столько получатели ждали, пока отправители работали; если разделить эту работу поровну или делать её "+
			"после отправки, ожидания не будет.")
	total := s.work
	if 2*s.work < s.lost { // they did not compute
		bound = words.Say("Senders worked for %s of that. Otherwise they were in other operations, or had no "+
			"core: %s",
			"Из этого отправители работали %s, а остальное время были в других операциях или не имели ядра: %s",
			words.Time(s.work), a.whoTookCores())
		total = s.lost
	}
	a.add("late-sender", s.work/max(int64(len(a.Pattern.Threads)), 1), total, bound, a.lateEvidence(&s),
		words.Say("Threads waited %s (%s) for messages that had not been sent yet, mostly in %s.%s %s",
			"Потоки ждали ещё не отправленных сообщений %s (%s), дольше всего в %s.%s %s", words.Time(s.lost),
			a.share(s.lost), a.callPath(s.call), a.meanwhile(&s), how))
}

// wrongOrder: another message was there already.
func (a *advisor) wrongOrder() {
	s := a.lateIn("wrong-order")
	if s.lost == 0 {
		return
	}
	a.addTime("wrong-order", s.lost, words.Say("This is all the time of such waits; part of it may only "+
		"move to a later wait for the late message.",
		"Это всё время таких ожиданий; сообщения, которое приходит поздно, возможно, придётся ждать и потом."),
		a.lateEvidence(&s), words.Say("Threads waited %s (%s) for a message, mostly in %s, while another one that "+
			"they received later had been sent before. Receive messages in the order in which they are sent, or "+
			"whichever comes first (`MPI_ANY_SOURCE`, `MPI_Waitany`).",
			"Потоки ждали сообщения %s (%s), дольше всего в %s, хотя другое, принятое позже, было отправлено раньше. "+
				"Принимайте сообщения в порядке отправки или то, которое пришло первым (`MPI_ANY_SOURCE`, "+
				"`MPI_Waitany`).",
			words.Time(s.lost), a.share(s.lost), a.callPath(s.call)))
}

// lateReceiver: senders wait until somebody wants their messages.
func (a *advisor) lateReceiver() {
	s := a.lateIn("late-receiver")
	if s.lost == 0 {
		return
	}
	a.addTime("late-receiver", s.lost, words.Say("This is all the time between a send and its receive. Where "+
		"senders wait for the same threads later, it moves there.",
		"Это всё время от отправки до начала приёма. Если отправители потом ждут тех же потоков, оно перейдёт "+
			"туда."),
		a.lateEvidence(&s), words.Say("Threads waited %s (%s) in sends until the receive was posted, mostly in "+
			"%s.%s Post the receive before that work (`MPI_Irecv`), or send without waiting (`MPI_Isend`).",
			"Потоки ждали в отправке начала приёма %s (%s), дольше всего в %s.%s Начинайте приём до этой работы "+
				"(`MPI_Irecv`) или отправляйте без ожидания (`MPI_Isend`).", words.Time(s.lost), a.share(s.lost),
			a.callPath(s.call), a.meanwhile(&s)))
}

// chained is the share of all waiting that must be for threads that wait themselves to speak of a chain.
const chained = 0.3

// serialChain: threads wait for threads that wait.
func (a *advisor) serialChain() {
	p := a.Pattern
	all := int64(0)
	for i := range p.Late {
		all += p.Late[i].NS
	}
	first, _ := largest(p.Causes, func(c *pattern.Cause) int64 { return c.NS })
	messages := a.Pattern.Sum("late-sender", nil).Total + a.Pattern.Sum("late-receiver", nil).Total
	if first == nil || float64(p.ChainedNS) < chained*float64(all) || 2*messages < p.ChainedNS {
		return
	}
	a.addTime("serial-chain", p.ChainedNS,
		words.Say("This is all the time in which threads waited for threads that waited.",
			"Это всё время, когда потоки ждали тех, кто ждал сам."),
		map[string]any{"chained_ns": p.ChainedNS, "thread": a.thread(first.Thread),
			"doing": a.callPath(first.Call), "doing_ns": first.NS}, words.Say(
			"Threads waited %s (%s) for threads that waited for others themselves. At the end of these chains most "+
				"was lost, %s, to thread %s in %s. Let each begin with what needs no message, or pass data on in "+
				"smaller parts so that the next one begins sooner.",
			"Потоки ждали %s (%s) тех, кто сам ждал других. В конце этих цепочек больше всего (%s) потеряно из-за "+
				"потока %s в %s. Пусть каждый начинает с того, для чего сообщение не нужно, или передавайте данные "+
				"меньшими частями, чтобы следующий начинал раньше.",
			words.Time(p.ChainedNS), a.share(p.ChainedNS), words.Time(first.NS), a.thread(first.Thread),
			a.callPath(first.Call)))
}

// joinMessages: messages that follow each other could be one.
func (a *advisor) joinMessages() {
	times, runs := int64(0), int64(0)
	best, total := largest(a.Pattern.Messages, func(x *pattern.Message) int64 {
		if x.Runs == 0 || x.Bytes > x.Count*smallMessage {
			return 0
		}
		times, runs = times+x.Count, runs+x.Runs
		return x.JoinNS
	})
	if best == nil {
		return
	}
	a.addTime("join-messages", total, words.Say("This is the time in sends and receives of all messages except "+
		"the first of each sequence.", "Это время отправки и приёма всех сообщений, кроме первого в каждой серии."),
		map[string]any{"call": a.callPath(best.Call), "times": times, "runs": runs, "bytes": best.Bytes,
			"time_ns": best.NS}, words.Say("Small messages go to the same receiver one after another, mostly "+
			"in %s: %s, %s on average. Combine them into one message.",
			"Мелкие сообщения идут подряд одному получателю, больше всего в %s: %s, в среднем %s. Объединяйте их в "+
				"одно.", a.callPath(best.Call), words.Number{N: best.Count, What: words.Messages},
			words.Size(best.Bytes/max(best.Count, 1))))
}

// smallMessage is the mean size, in bytes, up to which messages are small: sending one costs more than its
// bytes.
const smallMessage = 4096

// hideMessages: threads stand still while data is moved.
func (a *advisor) hideMessages() {
	p := a.Pattern
	all, work := p.Sum("message", nil), p.Sum("program", nil)
	sender, receiver := p.Sum("late-sender", nil), p.Sum("late-receiver", nil)
	total, gain := all.Total-sender.Total-receiver.Total, int64(0)
	for t, ns := range all.ByThread {
		gain += min(work.ByThread[t], ns-sender.ByThread[t]-receiver.ByThread[t])
	}
	if total <= 0 {
		return
	}
	a.addTime("hide-messages", gain,
		words.Say("This is the time of the transfers, or a thread's own work where that is shorter: no more can "+
			"overlap. This needs work that does not use the data, and a library that moves it in the background.",
			"Это время передач, а у потока, который работает меньше, — время его работы: больше совместить нельзя. "+
				"Нужна работа, которой эти данные не нужны, и библиотека, которая передаёт их тем временем."),
		map[string]any{"call": a.callPath(all.Call), "time_ns": total}, words.Say(
			"Threads sat idle for %s (%s) while messages were in flight or copied, mostly in %s. Begin them early "+
				"(`MPI_Isend`, `MPI_Irecv`), work on what is already there, and wait (`MPI_Waitall`) where you need the "+
				"data.",
			"Потоки простаивали %s (%s), пока сообщения передавались или копировались, дольше всего в %s. Начинайте "+
				"их заранее (`MPI_Isend`, `MPI_Irecv`), обрабатывайте то, что уже есть, и ждите (`MPI_Waitall`) там, "+
				"где данные нужны.", words.Time(total), a.share(total), a.callPath(all.Call)))
}

// nonBlocking are collectives that have a form which only begins them.
var nonBlocking = map[string]string{"MPI_Bcast": "MPI_Ibcast", "MPI_Scatter": "MPI_Iscatter",
	"MPI_Scatterv": "MPI_Iscatterv", "MPI_Gather": "MPI_Igather", "MPI_Gatherv": "MPI_Igatherv",
	"MPI_Allgather": "MPI_Iallgather", "MPI_Allgatherv": "MPI_Iallgatherv", "MPI_Alltoall": "MPI_Ialltoall",
	"MPI_Alltoallv": "MPI_Ialltoallv", "MPI_Reduce": "MPI_Ireduce", "MPI_Allreduce": "MPI_Iallreduce",
	"MPI_Scan": "MPI_Iscan"}

// hideCollectives: threads compute right after collectives, in which they waited.
func (a *advisor) hideCollectives() {
	best, total := largest(a.Pattern.Collectives, func(c *pattern.Collective) int64 {
		if nonBlocking[a.region(c.Call).Name] == "" {
			return 0
		}
		return c.HideNS
	})
	if best == nil {
		return
	}
	begin := nonBlocking[a.region(best.Call).Name]
	a.addTime("hide-collectives", total,
		words.Say("This is the time in the collective or the computation after it, whichever is shorter: no more "+
			"can overlap. This needs computation that does not use the result, and a library that works in the "+
			"background.",
			"Это время операции или вычислений после неё, смотря что короче: больше совместить нельзя. Нужны "+
				"вычисления, которым не нужен результат, и библиотека, которая работает тем временем."),
		map[string]any{"call": a.callPath(best.Call), "times": best.Count, "time_ns": best.NS,
			"computed_ns": best.AheadNS, "overlap_ns": best.HideNS}, words.Say(
			"Threads spent %s in %s, and computed for %s right after it, before the next call of MPI. If that "+
				"does not need the result, begin the collective before it (`%s`) and wait after it (`MPI_Wait`).",
			"Потоки провели %s в %s и сразу после этого, до следующего вызова MPI, вычисляли %s. Если для этого не "+
				"нужен результат, начинайте операцию до вычислений (`%s`) и ждите после них (`MPI_Wait`).",
			words.Time(best.NS), a.callPath(best.Call), words.Time(best.AheadNS), begin))
}
