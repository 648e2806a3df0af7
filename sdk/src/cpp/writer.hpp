
// ---- trace_writer_module --------------------------------------------------------------------------

namespace whyslow {
namespace detail {

// TraceWriter writes the trace. Its parameters are dir, buffer, pool, level, sync, full and signals, as in
// docs/c-sdk.md; workers, the number recorded even if fewer threads execute CFs; and cpu, "auto", "on" or
// "off": whether to measure CPU time.
class TraceWriter final : public IEventModule {
  public:
    void registerEvents() override {
        ws_options o;
        std::memset(&o, 0, sizeof o);
        const std::string dir = text("dir", ""), full = text("full", "wait"), cpu = text("cpu", "auto");
        o.dir = dir.c_str();
        o.workers = -1;
        o.buffer_bytes = size("buffer");
        o.pool = whole("pool", 0, 1 << 16);
        o.level = whole("level", 1, 4);
        o.level = o.level ? o.level : -1;
        o.sync = flag("sync", false);
        o.signals = flag("signals", false);
        const int workers = whole("workers", 0, WS_NO_WORKER);
        if (full != "wait" && full != "drop") throw std::runtime_error("full=" + full + ": say wait or drop");
        if (cpu != "auto" && cpu != "on" && cpu != "off")
            throw std::runtime_error("cpu=" + cpu + ": say auto, on or off");
        o.full = full == "drop" ? WS_DROP : WS_WAIT;
        s_.cpu = cpu == "on" ? Shared::On : cpu == "off" ? Shared::Off : Shared::Auto;
        s_.ctx = ws_open(&o);
        s_.since = ws_now() - (monotonic_ns() - process_start);
        s_.dfs.reset(new DFPool(s_.ctx));
        s_.work = ws_define_name(s_.ctx, "work");
        for (int i = 0; i < workers; i++) s_.add_worker();
        ws_setting(s_.ctx, "collector", "whyslow.hpp");

        EventsManager *events = EventsManager::instance();
        functions_ = events->active("GlobalEvents", "onForeignStarted");
        events->connect_matching(std::vector<std::string>(1, "*"),
                                 [this](const Event &e, const Value *v, std::size_t n) { record(e, v, n); });
    }

    void finish() override {
        const int64_t now = ws_now();
        tracks_.all([now](Track &t) { t.finish(now); });
        // If a thread is still recording, whyslow.h completes the file when the process exits.
        if (host().all_quiet)
            ws_close(s_.ctx, host().exit_status ? WS_FAILED : WS_DONE, host().exit_status, nullptr);
    }

  private:
    typedef void (TraceWriter::*Way)(Track &, const Event &, const Value *, std::size_t);

    // record finds out how to record an event, once per event and thread, and records it.
    void record(const Event &e, const Value *v, std::size_t n) {
        Track &t = tracks_.get();
        Track::Known &known = t.known(&e);
        if (known.way < 0) known.way = way(e);
        (this->*ways()[known.way].way)(t, e, v, n);
    }
    struct Named {
        const char *key; // null: any other event
        Way way;
    };
    static int way(const Event &e) {
        int i = 0;
        while (ways()[i].key && e.key() != ways()[i].key) i++;
        return i;
    }
    static const Named *ways() {
        static const Named all[] = {{"GlobalEvents::onForeignStarted", &TraceWriter::foreign_started},
                                    {"GlobalEvents::onForeignEnded", &TraceWriter::foreign_ended},
                                    {"GlobalEvents::onStarted", &TraceWriter::block<WS_BLOCK_STARTED>},
                                    {"GlobalEvents::onExited", &TraceWriter::block<WS_BLOCK_EXITED>},
                                    {"GlobalEvents::onWaiting", &TraceWriter::block<WS_BLOCK_WAITING>},
                                    {"GlobalEvents::onMigrated", &TraceWriter::block<WS_BLOCK_MIGRATED>},
                                    {"GlobalEvents::onContinued", &TraceWriter::block<WS_BLOCK_CONTINUED>},
                                    {"GlobalEvents::onIdle", &TraceWriter::idle},
                                    {"GlobalEvents::onBusy", &TraceWriter::busy},
                                    {"GlobalEvents::onReadyQueue", &TraceWriter::ready_queue},
                                    {"CFEvents::onStarted", &TraceWriter::cf_started},
                                    {"CFEvents::onFinished", &TraceWriter::cf_finished},
                                    {"CFEvents::onWaiting", &TraceWriter::cf_waiting},
                                    {"DFEvents::onCreate", &TraceWriter::df_create},
                                    {"DFEvents::onCreateSize", &TraceWriter::df_create},
                                    {"DFEvents::onDestroy", &TraceWriter::df_destroy},
                                    {"DFEvents::onDestroySize", &TraceWriter::df_destroy},
                                    {"SyncEvents::onWaitStarted", &TraceWriter::sync<true>},
                                    {"SyncEvents::onWaitEnded", &TraceWriter::sync<false>},
                                    {nullptr, &TraceWriter::user}};
        return all;
    }

    // name returns the first argument, which must be a string.
    static const char *name(const Event &e, const Value *v, std::size_t n, const char *what) {
        if (n == 0 || v[0].type != Value::Text)
            throw std::runtime_error(e.key() + " must have " + what +
                                     " as its first argument to get into the trace");
        return v[0].text;
    }
    static int64_t number(const Event &e, const Value *v, std::size_t n, const char *what) {
        const int64_t x = n ? v[n - 1].size() : -1;
        if (x < 0)
            throw std::runtime_error(e.key() + " must have " + what +
                                     " as its last argument to get into the trace");
        return x;
    }

    void foreign_started(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.begin(s_, name(e, v, n, "a function's name"), true, true);
    }
    void foreign_ended(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.end(s_, name(e, v, n, "a function's name"), true, false);
    }
    template <ws_kind kind> void block(Track &t, const Event &e, const Value *v, std::size_t n) {
        ws_stream *out = t.stream(s_);
        const Function *f = t.function(s_, name(e, v, n, "a function's name"), WS_ATOMIC);
        const int64_t now = ws_now();
        switch (kind) {
        case WS_BLOCK_STARTED: return ws_block_started_at(out, now, f->site, f->block);
        case WS_BLOCK_EXITED: return ws_block_exited_at(out, now, f->site, f->block);
        case WS_BLOCK_WAITING: return ws_block_waiting_at(out, now, f->site, f->block);
        case WS_BLOCK_MIGRATED: return ws_block_migrated_at(out, now, f->site, f->block);
        default: return ws_block_continued_at(out, now, f->site, f->block);
        }
    }
    void idle(Track &t, const Event &, const Value *, std::size_t) { t.park(s_); }
    void busy(Track &t, const Event &, const Value *, std::size_t) { t.unpark(s_); }
    void ready_queue(Track &t, const Event &e, const Value *v, std::size_t n) {
        ws_ready_queue(t.stream(s_), static_cast<uint64_t>(number(e, v, n, "a length")));
    }
    template <bool on> void sync(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.wait(s_, ws_define_name(s_.ctx, name(e, v, n, "the name of what is waited for")), on);
    }

    // If functions are recorded, a CF is what surrounds them; otherwise a CF is what executes.
    void cf_started(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.begin(s_, name(e, v, n, "a message"), !functions_, false);
    }
    void cf_finished(Track &t, const Event &, const Value *, std::size_t) {
        t.end(s_, nullptr, !functions_, false);
    }
    void cf_waiting(Track &t, const Event &, const Value *, std::size_t) {
        t.end(s_, nullptr, !functions_, true);
    }

    void df_create(Track &t, const Event &e, const Value *v, std::size_t n) {
        const int64_t size = number(e, v, n, "a size");
        ws_stream *out = t.stream(s_);
        int64_t now;
        const char *called = n > 1 && v[0].type == Value::Text ? v[0].text : "DF";
        if (const ws_df df = s_.dfs->create(t.df_class(s_, called, size), &now))
            ws_df_create_at(out, now, df, size, t.current());
    }
    void df_destroy(Track &t, const Event &e, const Value *v, std::size_t n) {
        const int64_t size = number(e, v, n, "a size");
        ws_stream *out = t.stream(s_);
        int64_t now;
        if (const ws_df df = s_.dfs->destroy(t.df_class(s_, "DF", size), &now))
            ws_df_destroy_at(out, now, df, size, WS_EXPIRED);
    }

    // user records any other event as a kind of its own, with one field per argument.
    void user(Track &t, const Event &e, const Value *v, std::size_t n) {
        static const char letters[] = "iufbtTdo";
        char types[20] = "";
        for (std::size_t i = 0; i < n && i < 16; i++) types[i] = letters[v[i].type];
        Track::Known &known = t.known(&e);
        if (!known.kind || std::strcmp(known.types, types) != 0) {
            known.kind = kind(e, v, std::min<std::size_t>(n, 16), types);
            std::memcpy(known.types, types, sizeof types);
        }
        uint64_t words[16];
        for (std::size_t i = 0; i < n && i < 16; i++) {
            switch (v[i].type) {
            case Value::Float: words[i] = ws_float(v[i].f); break;
            case Value::Text: words[i] = ws_define_name(s_.ctx, v[i].text); break;
            case Value::Other: words[i] = ws_define_name(s_.ctx, v[i].str().c_str()); break;
            default: words[i] = v[i].u;
            }
        }
        if (known.kind) ws_emit(t.stream(s_), known.kind, words, std::min<std::size_t>(n, 16));
    }

    // kind declares an event. An event that is emitted with several lists of types gets a kind for each.
    ws_kind kind(const Event &e, const Value *v, std::size_t n, const char *types) {
        static const char *const fields[] = {"Int", "Uint", "Float", "Uint", "Name", "Int", "NS", "Name"};
        std::lock_guard<std::mutex> guard(s_.lock);
        std::vector<std::pair<std::string, ws_kind>> &all = kinds_[e.key()];
        for (const std::pair<std::string, ws_kind> &k : all)
            if (k.first == types) return k.second;
        std::string list;
        for (std::size_t i = 0; i < n; i++)
            list += (i ? " arg" : "arg") + std::to_string(i + 1) + ":" + fields[v[i].type];
        const std::string space = e.space() + (has(standard_events(), e.key()) ? "User" : "");
        const std::string name = e.name() + (all.empty() ? "" : std::to_string(all.size() + 1));
        const ws_kind made = ws_define_kind(s_.ctx, space.c_str(), name.c_str(), list.c_str(), "");
        all.push_back(std::make_pair(std::string(types), made));
        return all.back().second;
    }

    int whole(const char *param, int otherwise, int most) {
        const double x = number(param, otherwise);
        if (!(x >= 0 && x <= most) || x != static_cast<int>(x))
            throw std::runtime_error(std::string("parameter ") + param +
                                     " must be a whole number from 0 to " + std::to_string(most));
        return static_cast<int>(x);
    }
    using IEventModule::number;

    std::size_t size(const char *param) {
        const std::string s = text(param, "128Ki");
        char *end;
        unsigned long long n = std::strtoull(s.c_str(), &end, 10);
        if (*end == 'k' || *end == 'K') n <<= 10, end++;
        else if (*end == 'm' || *end == 'M') n <<= 20, end++;
        if (*end == 'i') end++;
        if (end == s.c_str() || *end || n < 1 << 10 || n > 4 << 20)
            throw std::runtime_error(std::string(param) + "=" + s + ": say 1Ki to 4Mi bytes");
        return static_cast<std::size_t>(n);
    }

    Shared s_;
    bool functions_ = false;
    PerThread<Track> tracks_;
    std::map<std::string, std::vector<std::pair<std::string, ws_kind>>> kinds_; // under s_.lock
};

static std::unique_ptr<IEventModule> make_trace_writer() {
    return std::unique_ptr<IEventModule>(new TraceWriter);
}

} // namespace detail
} // namespace whyslow
