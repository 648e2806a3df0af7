
// ---- The trace: what a thread does, and DFs known by their size ----------------------------------
//
// A trace is about CFs and DFs. The events of a task-parallel program that knows nothing of whyslow have no
// identities: "this function starts now", "so many bytes are allocated". This is how one becomes the other:
//
// - From onForeignStarted to onForeignEnded a new CF executes; the function that is named is its code
//   fragment. A thread is a worker from its first such CF on, and its time is divided from the start of the
//   program.
// - Between two CFs of a worker, time is overhead while the thread computed and starvation while it slept.
//   Thread CPU time tells which, or onIdle and onBusy if the program emits them. A trace expresses starvation
//   by an input that arrives late, so the CF gets a DF "work" as input, created at the end of that time. This
//   DF, and when the CF was created and became ready, are known only when the CF starts; but times in a
//   stream must not go back. So these events go to a second stream beside the worker's.
// - onCreateSize makes a DF named by its size; onDestroySize destroys the youngest DF of that size.

#include <sys/resource.h>

namespace whyslow {
namespace detail {

// Function is a code fragment as a thread knows it.
struct Function {
    std::string name;
    ws_site site;
    uint64_t block;         // from the number at the end of "block_5"
    uint64_t count;         // executions by this thread
    int64_t total;          // their time, ns
};

// Sites holds the site of each function name, for all threads.
class Sites {
  public:
    ws_site site(ws_context *ctx, const std::string &name, int kind) {
        std::lock_guard<std::mutex> guard(lock_);
        ws_site &s = sites_[std::make_pair(name, kind)];
        if (!s) {
            const ws_code code = ws_define_code(ctx, name.c_str(), kind, nullptr, 0, 0);
            s = ws_define_site(ctx, code, nullptr, nullptr, 0, 0, nullptr);
        }
        return s;
    }

  private:
    std::mutex lock_;
    std::map<std::pair<std::string, int>, ws_site> sites_;
};

// DFPool numbers DFs that are known only by name and size, and uses the numbers of destroyed ones again. It
// has two kinds of lock-free stacks: for each size the DFs that exist, for each name and size those that are
// destroyed. The head of a stack holds a counter beside the index, so that a head that was changed and
// changed back is not mistaken for the old one.
class DFPool {
  public:
    struct Class; // for a name and a size

    explicit DFPool(ws_context *ctx) : ctx_(ctx), count_(0) {
        for (std::atomic<Node *> &c : chunks_) c = nullptr;
    }
    ~DFPool() {
        for (std::atomic<Node *> &c : chunks_) delete[] c.load();
    }

    // find returns the class of a name and size. It takes a lock, so threads keep what they have found.
    Class *find(const std::string &name, int64_t size) {
        std::lock_guard<std::mutex> guard(lock_);
        std::unique_ptr<Class> &c = classes_[std::make_pair(name, size)];
        if (!c) {
            std::unique_ptr<Stack> &live = live_[size];
            if (!live) live.reset(new Stack);
            c.reset(new Class{{}, live.get(), name, ws_define_name(ctx_, name.c_str()), size, {0}});
        }
        return c.get();
    }

    // create returns the number of a new DF, or 0 if there are too many, and the time of its creation. That
    // time lies between the last destruction of this number and the next.
    ws_df create(Class *c, int64_t *t) {
        uint32_t i = pop(c->dead);
        if (!i) {
            if (count_.load(std::memory_order_relaxed) >= max_nodes || (i = ++count_) >= max_nodes) return 0;
            const int64_t identity[4] = {0, static_cast<int64_t>(c->name), c->size,
                                         static_cast<int64_t>(c->made++)};
            Node &n = node(i);
            n.home = c;
            n.df = ws_define_df(ctx_, c->name, identity, 4);
        }
        const ws_df df = node(i).df;
        *t = ws_now();
        push(*c->live, i);
        return df;
    }

    // destroy returns the number of the youngest DF of the class's size, or 0 if there is none, and the time
    // of its destruction.
    ws_df destroy(Class *c, int64_t *t) {
        const uint32_t i = pop(*c->live);
        if (!i) return 0;
        Node &n = node(i);
        const ws_df df = n.df;
        *t = ws_now();
        push(n.home->dead, i);
        return df;
    }

  private:
    struct Stack {
        std::atomic<uint64_t> head{0}; // counter << 32 | index
    };
    struct Node {
        ws_df df;
        Class *home;
        std::atomic<uint32_t> next;
    };

  public:
    struct Class {
        Stack dead;
        Stack *live;
        std::string text;
        ws_name name;
        int64_t size;
        std::atomic<uint64_t> made;
    };

  private:
    static const uint32_t max_nodes = 1u << 30;

    // Chunk k holds the nodes 2^k to 2^(k+1)-1.
    Node &node(uint32_t i) {
        const int k = 31 - __builtin_clz(i);
        Node *c = chunks_[k].load(std::memory_order_acquire);
        if (!c) {
            std::unique_ptr<Node[]> fresh(new Node[std::size_t(1) << k]);
            if (chunks_[k].compare_exchange_strong(c, fresh.get(), std::memory_order_acq_rel))
                c = fresh.release();
        }
        return c[i - (1u << k)];
    }
    void push(Stack &s, uint32_t i) {
        uint64_t head = s.head.load(std::memory_order_relaxed);
        do node(i).next.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
        while (!s.head.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | i, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
    }
    uint32_t pop(Stack &s) {
        uint64_t head = s.head.load(std::memory_order_acquire);
        while (static_cast<uint32_t>(head) != 0) {
            const uint32_t i = static_cast<uint32_t>(head);
            const uint32_t next = node(i).next.load(std::memory_order_relaxed);
            if (s.head.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | next, std::memory_order_acq_rel,
                                             std::memory_order_acquire))
                return i;
        }
        return 0;
    }

    ws_context *ctx_;
    std::mutex lock_;
    std::map<std::pair<std::string, int64_t>, std::unique_ptr<Class>> classes_;
    std::map<int64_t, std::unique_ptr<Stack>> live_;
    std::atomic<Node *> chunks_[32];
    std::atomic<uint32_t> count_;
};

class Track;

// Worker is a worker of the trace. A new thread takes over one whose thread has ended, if there is one.
struct Worker {
    ws_stream *stream, *beside; // beside: for events that are known late
    ws_df work;
    int64_t last_end;         // end of its last atomic CF
    Track *track;             // track of the thread that has it; null: none
    const ThreadState *owner; // that thread
    uint64_t generation;
};

// Shared is what all tracks share.
struct Shared {
    ws_context *ctx;
    Sites sites;
    std::unique_ptr<DFPool> dfs;
    enum { Auto, On, Off } cpu;
    int64_t since; // when the program was loaded
    std::mutex lock;
    std::vector<std::unique_ptr<Worker>> workers; // under lock
    ws_name work;

    // add_worker makes one more worker. The caller holds lock.
    Worker *add_worker() {
        const int i = static_cast<int>(workers.size());
        const int64_t identity[3] = {0, static_cast<int64_t>(work), i};
        ws_stream *stream = ws_worker_open(ctx, since); // beyond WS_NO_WORKER it records nothing
        ws_stream *beside = i < WS_NO_WORKER ? ws_stream_open(ctx, WS_NO_WORKER + i) : stream;
        workers.emplace_back(
            new Worker{stream, beside, ws_define_df(ctx, work, identity, 3), since, nullptr, nullptr, 0});
        return workers.back().get();
    }
};

// Track records what a thread does. Threads that follow one another may share one.
class Track {
  public:
    // Reading the thread's CPU clock is a system call. It pays around CFs that last at least this long on
    // average, and after a gap of this length.
    static const int64_t long_cf = 50000, long_gap = 20000;

    ws_stream *stream(Shared &s) {
        if (generation_ != thread_state()->generation.load(std::memory_order_relaxed) + 1) take_over(s);
        if (!stream_)
            stream_ = ws_stream_open(s.ctx, 2 * WS_NO_WORKER + static_cast<int>(thread_state()->index));
        return stream_;
    }

    // begin starts the execution of an atomic CF, or of a CF around atomic ones. An atomic CF inside another
    // is not recorded on its own. foreign: it is user code.
    void begin(Shared &s, const char *name, bool atomic, bool foreign) {
        ws_stream *out = stream(s);
        if (atomic && !worker_) out = become_worker(s);
        Function *f = function(s, name, atomic ? WS_ATOMIC : WS_SUB);
        const int64_t now = ws_now();
        Open o = {f, out, 0, now, -1, atomic, foreign};
        if (atomic && atomics_++) {
            open_.push_back(o); // its time belongs to the outer one
            if (foreign) ws_foreign_started_at(out, now, f->site);
            return;
        }
        int64_t ready = now, cpu = -1;
        ws_df input = 0;
        if (atomic) {
            const int64_t slept = idle(s, now, &cpu);
            ready = worker_->last_end + slept;
            if (slept > 0) {
                input = worker_->work;
                ws_df_create_at(worker_->beside, ready, input, 0, 0);
            }
            if (!open_.empty())
                ready = std::max(ready, open_.back().start); // not before the CF around it started
            const bool takes_long = f->count < 4 || f->total >= long_cf * static_cast<int64_t>(f->count);
            if (cpu < 0 && (s.cpu == Shared::On || (s.cpu == Shared::Auto && takes_long)))
                cpu = ws_thread_cpu();
            if (s.cpu != Shared::Off) o.cpu = cpu;
        }
        o.cf = ws_new_id(s.ctx);
        ws_stream *before = atomic ? worker_->beside : out;
        ws_cf_created_at(before, ready, o.cf, f->site, current(), current() != 0, 1, nullptr, 0);
        ws_cf_ready_at(before, ready, o.cf, 0);
        ws_cf_started_at(out, now, o.cf, 1, &input, input != 0);
        if (input) ws_df_destroy_at(out, now, input, 0, WS_EXPIRED);
        if (foreign) ws_foreign_started_at(out, now, f->site);
        open_.push_back(o);
    }

    // end ends the innermost execution of that kind and, if name is given, of that name. Executions still
    // open inside it end, too. waits: the CF waits instead of finishing.
    void end(Shared &s, const char *name, bool atomic, bool waits) {
        stream(s);
        std::size_t i = open_.size();
        while (i > 0 && (open_[i - 1].atomic != atomic || (name && open_[i - 1].function->name != name))) i--;
        if (i == 0) return;
        const int64_t now = ws_now();
        if (waits) ws_cf_waiting_at(open_[i - 1].out, now, open_[i - 1].cf, nullptr, 0);
        while (open_.size() >= i) close(now, true);
    }

    // park and unpark: the thread goes to sleep, and goes on.
    void park(Shared &s) {
        ws_stream *out = stream(s);
        parks_ = true;
        if (!parked_) parked_ = ws_now();
        ws_idle(out);
    }
    void unpark(Shared &s) {
        ws_stream *out = stream(s);
        const int64_t now = ws_now();
        if (parked_) slept_ += now - std::max(parked_, last_end());
        parked_ = 0;
        ws_busy_at(out, now);
    }

    // wait: the thread begins (on) or ends waiting for a lock or the like.
    void wait(Shared &s, ws_name what, bool on) {
        ws_stream *out = stream(s);
        const int64_t now = ws_now();
        if (!on && waiting_) waited_ += now - std::max(waiting_, last_end());
        waiting_ = on ? now : 0;
        if (on) ws_wait_started_at(out, now, what);
        else ws_wait_ended_at(out, now, what);
    }

    // current returns the CF that the thread executes, or 0.
    ws_cf current() const {
        for (std::size_t i = open_.size(); i > 0; i--)
            if (open_[i - 1].cf) return open_[i - 1].cf;
        return 0;
    }

    Function *function(Shared &s, const char *name, int kind) {
        const std::uintptr_t hash = reinterpret_cast<std::uintptr_t>(name) >> 3;
        Function *&hint = hints_[(hash ^ static_cast<std::uintptr_t>(kind)) % hint_count];
        if (hint && hint->name == name && hint_kind_[&hint - hints_] == kind) return hint;
        std::unique_ptr<Function> &f = functions_[std::make_pair(std::string(name), kind)];
        if (!f) {
            const char *digits = name + std::strlen(name);
            while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
            const bool numbered = *digits && digits > name && digits[-1] == '_' && std::strlen(digits) < 10;
            f.reset(new Function{name, s.sites.site(s.ctx, name, kind),
                                 numbered ? std::strtoull(digits, nullptr, 10) : 0, 0, 0});
        }
        hint_kind_[&hint - hints_] = kind;
        return hint = f.get();
    }

    DFPool::Class *df_class(Shared &s, const char *name, int64_t size) {
        DFPool::Class *&hint = class_hints_[static_cast<uint64_t>(size) * 0x9E3779B97F4A7C15u >> 58];
        if (hint && hint->size == size && hint->text == name) return hint;
        DFPool::Class *&c = classes_[std::make_pair(std::string(name), size)];
        return hint = c ? c : c = s.dfs->find(name, size);
    }

    // finish ends the executions that are still open. Nobody uses the track afterwards.
    void finish(int64_t now) {
        while (!open_.empty()) close(now, false);
    }

    // What the writer knows about an event: how to record it and, for a user event, its kind for each list of
    // argument types.
    struct Known {
        const void *event;
        int way;
        ws_kind kind;
        char types[20];
    };
    Known &known(const void *event) {
        Known &hint = known_[(reinterpret_cast<std::uintptr_t>(event) >> 6) % 32];
        if (hint.event != event) hint = Known{event, -1, 0, ""};
        return hint;
    }

  private:
    struct Open {
        Function *function;
        ws_stream *out; // the stream in which it started
        ws_cf cf;       // 0: inside an atomic CF
        int64_t start, cpu;
        bool atomic, foreign;
    };

    int64_t last_end() const { return worker_ ? worker_->last_end : 0; }

    void close(int64_t now, bool measured) {
        const Open o = open_.back();
        open_.pop_back();
        if (o.atomic) atomics_--;
        if (o.foreign) ws_foreign_ended_at(o.out, now, o.function->site);
        if (!o.cf) return;
        int64_t cpu = -1;
        if (o.atomic) {
            if (o.cpu >= 0 && measured) {
                seen_cpu_ = ws_thread_cpu(), seen_ = now;
                cpu = seen_cpu_ - o.cpu;
            }
            o.function->count++, o.function->total += now - o.start;
            worker_->last_end = now, slept_ = waited_ = 0;
        }
        ws_cf_finished_at(o.out, now, o.cf, 1, cpu);
    }

    // take_over is called when another thread begins to use the track. Executions that the thread before it
    // left open ended with that thread.
    void take_over(Shared &s) {
        std::lock_guard<std::mutex> guard(s.lock);
        leave();
        generation_ = thread_state()->generation.load(std::memory_order_relaxed) + 1;
        parks_ = false, parked_ = slept_ = waiting_ = waited_ = 0;
        switches_ = -1;
    }

    // leave gives up the worker. The caller holds the lock, and the thread that had the worker has ended.
    void leave() {
        if (!open_.empty()) finish(ws_now());
        if (worker_) worker_->track = nullptr;
        worker_ = nullptr, stream_ = nullptr;
    }

    ws_stream *become_worker(Shared &s) {
        std::lock_guard<std::mutex> guard(s.lock);
        for (const std::unique_ptr<Worker> &w : s.workers) {
            if (w->track && !w->owner->ended.load(std::memory_order_acquire) &&
                w->owner->generation.load(std::memory_order_acquire) == w->generation)
                continue;
            if (w->track) w->track->leave();
            worker_ = w.get();
            break;
        }
        if (!worker_) worker_ = s.add_worker();
        worker_->track = this;
        worker_->owner = thread_state();
        worker_->generation = generation_ - 1;
        seen_ = worker_->last_end, seen_cpu_ = 0; // a thread starts with no CPU time used
        return stream_ = worker_->stream;
    }

    // idle returns how long the thread has slept since its last CF, in ns. If it reads the CPU clock, it
    // returns that as well.
    int64_t idle(const Shared &s, int64_t now, int64_t *cpu) {
        const int64_t gap = now - worker_->last_end;
        int64_t slept = 0;
        if (parks_) {
            if (parked_) slept_ += now - std::max(parked_, last_end());
            parked_ = 0;
            slept = slept_;
        } else if (s.cpu != Shared::Off && gap >= long_gap) {
            *cpu = ws_thread_cpu();
            slept = (now - seen_) - (*cpu - seen_cpu_) - waited_;
            if (slept >= 5000 && !gave_up_processor()) slept = 0;
            seen_ = now, seen_cpu_ = *cpu;
        }
        return slept < 5000 ? 0 : std::min(slept, gap - 1); // before the start: the order is clear
    }

    // gave_up_processor tells whether the thread has slept since the last call, rather than been pre-empted.
    bool gave_up_processor() {
#ifdef RUSAGE_THREAD
        struct rusage u;
        if (::getrusage(RUSAGE_THREAD, &u)) return true;
        const long before = switches_;
        switches_ = u.ru_nvcsw;
        return before != switches_;
#else
        return true;
#endif
    }

    uint64_t generation_ = 0; // the generation of the thread, plus 1
    ws_stream *stream_ = nullptr;
    Worker *worker_ = nullptr;
    std::vector<Open> open_;
    int atomics_ = 0;      // how many of them are atomic
    bool parks_ = false;   // the program says when the thread sleeps
    int64_t parked_ = 0, slept_ = 0, waiting_ = 0, waited_ = 0;
    long switches_ = -1; // voluntary context switches of the thread so far
    int64_t seen_ = 0, seen_cpu_ = 0; // when the CPU clock was last read, and its value
    std::map<std::pair<std::string, int>, std::unique_ptr<Function>> functions_;
    static const std::size_t hint_count = 64;
    Function *hints_[hint_count] = {};
    int hint_kind_[hint_count] = {};
    std::map<std::pair<std::string, int64_t>, DFPool::Class *> classes_;
    DFPool::Class *class_hints_[64] = {};
    Known known_[32] = {};
};

} // namespace detail
} // namespace whyslow
