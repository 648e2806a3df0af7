
// ---- Standard modules; you may derive from them ---------------------------------------------------------

namespace whyslow {

// Output is where a module writes, from its parameter file: a file, "-" for standard output,
// "tcp://HOST:PORT" for whoever listens there; the default is standard error.
class Output {
  public:
    Output() : f_(nullptr), socket_(-1), error_(0) {}
    ~Output() { close(); }
    Output(const Output &) = delete;
    // open creates or replaces the file, or connects. It throws std::runtime_error if the file cannot be
    // written, if another module or another run is writing it, or if nobody listens.
    void open(const std::string &file) {
        if (file.empty() || file == "-") {
            f_ = file.empty() ? stderr : stdout;
            return;
        }
        if (file.compare(0, 6, "tcp://") == 0) {
            connect(file);
            return;
        }
        const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) throw std::runtime_error("cannot write " + file + ": " + std::strerror(errno));
        struct stat st;
        const bool regular = !::fstat(fd, &st) && S_ISREG(st.st_mode);
        if (regular && ::flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
            ::close(fd);
            throw std::runtime_error(
                file + " is being written by another module or another run: name another file");
        }
        if ((regular && ::ftruncate(fd, 0)) || !(f_ = ::fdopen(fd, "w"))) {
            const int why = errno;
            ::close(fd);
            throw std::runtime_error("cannot write " + file + ": " + std::strerror(why));
        }
    }
    // write writes whole lines.
    void write(const std::string &s) {
        if (f_) std::fwrite(s.data(), 1, s.size(), f_);
        if (socket_ < 0) return;
        waiting_ += s;
        if (waiting_.size() >= 1 << 16) send();
    }
    void close() {
        const bool own = f_ && f_ != stderr && f_ != stdout;
        int error = f_ && std::fflush(f_) ? errno : 0;
        if (own) {
            ::flock(::fileno(f_), LOCK_UN); // a forked process would keep the lock
            if (std::fclose(f_) && !error) error = errno;
            if (error)
                std::fprintf(stderr, "whyslow: a file of results is incomplete: %s\n",
                             std::strerror(error));
        }
        f_ = nullptr;
        if (socket_ < 0) return;
        send();
        if (::close(socket_) && !error_) error_ = errno;
        socket_ = -1;
        if (error_)
            std::fprintf(stderr, "whyslow: results sent over the network are incomplete: %s\n",
                         std::strerror(error_));
    }

  private:
    std::FILE *f_;
    int socket_, error_; // error_: the first errno of the connection; nothing is sent after it
    std::string waiting_;

    // connect waits at most five seconds for each address of the host, and as long for each later send.
    void connect(const std::string &where) {
        const std::size_t colon = where.rfind(':');
        std::string host = where.substr(6, colon > 6 ? colon - 6 : 0);
        if (host.size() > 1 && host[0] == '[' && host[host.size() - 1] == ']')
            host = host.substr(1, host.size() - 2);
        addrinfo wanted, *list = nullptr;
        std::memset(&wanted, 0, sizeof wanted);
        wanted.ai_socktype = SOCK_STREAM;
        const int wrong = ::getaddrinfo(host.c_str(), where.c_str() + colon + 1, &wanted, &list);
        if (wrong) throw std::runtime_error("cannot connect to " + where + ": " + ::gai_strerror(wrong));
        timeval limit;
        limit.tv_sec = 5, limit.tv_usec = 0;
        int why = 0;
        for (addrinfo *a = list; a && socket_ < 0; a = a->ai_next) {
            const int fd = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
            if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
            if (fd >= 0 && !::connect(fd, a->ai_addr, a->ai_addrlen)) {
                socket_ = fd;
                continue;
            }
            why = errno;
            if (fd >= 0) ::close(fd);
        }
        ::freeaddrinfo(list);
        if (socket_ < 0) throw std::runtime_error("cannot connect to " + where + ": " + std::strerror(why));
    }

    void send() {
        for (std::size_t at = 0; at < waiting_.size() && !error_;) {
            const ssize_t n = ::send(socket_, waiting_.data() + at, waiting_.size() - at, MSG_NOSIGNAL);
            if (n >= 0) at += static_cast<std::size_t>(n);
            else if (errno != EINTR) error_ = errno;
        }
        waiting_.clear();
    }
};

// LoggerModule is logger_module: one line for each event. Its parameters are file; format, "text" or "csv";
// and events, a list of patterns, by default all. Derive from it to change the lines. cf_events_module,
// df_events_module and global_events_module do the same for the events of one namespace.
class LoggerModule : public IEventModule {
  public:
    explicit LoggerModule(const char *pattern = "*")
        : pattern_(pattern), csv_(false), start_(std::chrono::steady_clock::now()) {}
    void registerEvents() override {
        out_.open(text("file", ""));
        const std::string format = text("format", "text");
        csv_ = format == "csv";
        if (!csv_ && format != "text")
            throw std::runtime_error("parameter format is \"" + format +
                                     "\": it must be \"text\" or \"csv\"");
        out_.write(header());
        const std::vector<std::string> patterns = texts("events", std::vector<std::string>(1, pattern_));
        EventsManager::instance()->connect_matching(patterns, [this](const Event &e, const Value *v,
                                                                     std::size_t n) {
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
            const std::string s = line(e, v, n, seconds.count());
            std::lock_guard<std::mutex> guard(lock_);
            out_.write(s);
        });
    }
    void finish() override { out_.close(); }

  protected:
    // header returns the first line; line returns that of an event, seconds after the start. Both end with
    // "\n".
    virtual std::string header() const { return csv_ ? "time,thread,event,arguments\n" : ""; }
    virtual std::string line(const Event &e, const Value *v, std::size_t n, double seconds) const {
        std::ostringstream s;
        s.setf(std::ios::fixed);
        s.precision(6);
        const char separator = csv_ ? ',' : ' ';
        s << seconds << separator << std::this_thread::get_id() << separator << e.key();
        for (std::size_t i = 0; i < n; i++) s << separator << (csv_ ? quoted(v[i].str()) : v[i].str());
        s << '\n';
        return s.str();
    }
    static std::string quoted(const std::string &s) {
        if (s.find_first_of(",\"\r\n") == std::string::npos) return s;
        std::string q = "\"";
        for (char c : s) q += c == '"' ? std::string("\"\"") : std::string(1, c);
        return q + "\"";
    }

  private:
    std::string pattern_;
    bool csv_;
    std::chrono::steady_clock::time_point start_;
    std::mutex lock_;
    Output out_;
};

struct CFEventsModule : LoggerModule {
    CFEventsModule() : LoggerModule("CFEvents::*") {}
};
struct DFEventsModule : LoggerModule {
    DFEventsModule() : LoggerModule("DFEvents::*") {}
};
struct GlobalEventsModule : LoggerModule {
    GlobalEventsModule() : LoggerModule("GlobalEvents::*") {}
};

// CFCounterModule is cf_counter_events_module: how often CFs were created, started, waited and finished.
class CFCounterModule : public IEventModule {
  public:
    void registerEvents() override {
        out_.open(text("file", ""));
        for (int i = 0; i < 4; i++)
            EventsManager::instance()->connect(
                "CFEvents", event(i), [this, i](const Event &, const Value *, std::size_t) {
                    std::atomic<std::uint64_t> &n = counts_.get().n[i]; // only this thread writes it
                    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                });
    }
    void finish() override {
        static const char *const words[] = {"created", "started", "waiting", "finished"};
        for (int i = 0; i < 4; i++)
            out_.write(std::string("CF ") + words[i] + ": " + std::to_string(count(i)) + "\n");
        out_.close();
    }
    // count returns the number so far of events 0 created, 1 started, 2 waiting or 3 finished.
    std::uint64_t count(int i) {
        std::uint64_t sum = 0;
        counts_.all([&sum, i](Counts &c) { sum += c.n[i].load(std::memory_order_relaxed); });
        return sum;
    }

  private:
    static const char *event(int i) {
        static const char *const names[] = {"onCreated", "onStarted", "onWaiting", "onFinished"};
        return names[i];
    }
    struct Counts {
        std::atomic<std::uint64_t> n[4];
        Counts() {
            for (std::atomic<std::uint64_t> &c : n) c = 0;
        }
    };
    PerThread<Counts> counts_;
    Output out_;
};

// DFSizerModule is df_sizer_events_module: bytes of DFs created and destroyed. The size is the last argument
// of onCreate or onCreateSize, and of onDestroy or onDestroySize. A program emits one of the two for each DF.
class DFSizerModule : public IEventModule {
  public:
    void registerEvents() override {
        out_.open(text("file", ""));
        static const char *const names[] = {"onCreate", "onCreateSize", "onDestroy", "onDestroySize"};
        for (int i = 0; i < 4; i++)
            EventsManager::instance()->connect(
                "DFEvents", names[i], [this, i](const Event &e, const Value *v, std::size_t n) {
                    const std::int64_t size = n ? v[n - 1].size() : -1;
                    if (size < 0) throw std::runtime_error(e.key() + " has no size as its last argument");
                    std::atomic<std::int64_t> &bytes = sums_.get().bytes[i / 2];
                    bytes.store(bytes.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
                });
    }
    void finish() override {
        out_.write("Total DF size created: " + std::to_string(created()) + " bytes\n" +
                   "Total DF size destroyed: " + std::to_string(destroyed()) + " bytes\n");
        out_.close();
    }
    std::int64_t created() { return sum(0); }   // so far
    std::int64_t destroyed() { return sum(1); } // so far

  private:
    struct Sums {
        std::atomic<std::int64_t> bytes[2];
        Sums() { bytes[0] = bytes[1] = 0; }
    };
    std::int64_t sum(int i) {
        std::int64_t sum = 0;
        sums_.all([&sum, i](Sums &s) { sum += s.bytes[i].load(std::memory_order_relaxed); });
        return sum;
    }
    PerThread<Sums> sums_;
    Output out_;
};

// ForeignBlockTimerModule is foreign_block_timer_module: the time of user functions by function and thread,
// from the times that onForeignStarted and onForeignEnded carry.
class ForeignBlockTimerModule : public IEventModule {
  public:
    void registerEvents() override {
        out_.open(text("file", ""));
        EventsManager *events = EventsManager::instance();
        events->connect("GlobalEvents", "onForeignStarted", [this](const Event &e, const Value *v,
                                                                   std::size_t n) {
            check(e, v, n);
            Thread &t = threads_.get();
            t.open.push_back(Open{t.find(v[0].text), v[1].i});
        });
        events->connect("GlobalEvents", "onForeignEnded", [this](const Event &e, const Value *v,
                                                                 std::size_t n) {
            check(e, v, n);
            Thread &t = threads_.get();
            const std::size_t f = t.find(v[0].text);
            for (std::size_t i = t.open.size(); i > 0; i--) {
                if (t.open[i - 1].function != f) continue;
                t.functions[f].total += v[1].i - t.open[i - 1].start;
                t.open.resize(i - 1); // calls above it that an exception left open have no end
                break;
            }
        });
    }
    void finish() override {
        std::map<std::pair<std::string, std::uint64_t>, std::int64_t> all; // function, thread
        threads_.all([&all](Thread &t) {
            for (const Function &f : t.functions) all[std::make_pair(f.name, f.thread)] += f.total;
        });
        for (const auto &p : all)
            out_.write("Func: " + p.first.first + ", PID: " + std::to_string(::getpid()) +
                       ", TID: " + std::to_string(p.first.second) + " => " +
                       std::to_string((p.second + 500000) / 1000000) + " ms total\n");
        out_.close();
    }

  private:
    struct Function {
        const char *pointer;
        std::string name;
        std::uint64_t thread;
        std::int64_t total;
    };
    struct Open {
        std::size_t function;
        std::int64_t start;
    };
    struct Thread {
        std::vector<Open> open;
        std::vector<Function> functions;

        // Most names are the same pointer each time, but the text decides.
        std::size_t find(const char *name) {
            const std::uint64_t self = thread_number();
            for (std::size_t i = 0; i < functions.size(); i++)
                if (functions[i].pointer == name && functions[i].thread == self && functions[i].name == name)
                    return i;
            for (std::size_t i = 0; i < functions.size(); i++)
                if (functions[i].thread == self && functions[i].name == name)
                    return functions[i].pointer = name, i;
            functions.push_back(Function{name, name, self, 0});
            return functions.size() - 1;
        }
    };
    static std::uint64_t thread_number() { return (std::uint64_t)::pthread_self(); }
    static void check(const Event &e, const Value *v, std::size_t n) {
        if (n != 2 || v[0].type != Value::Text || v[1].type != Value::Time)
            throw std::runtime_error(e.key() + " must have a function's name and a time as its arguments");
    }
    PerThread<Thread> threads_;
    Output out_;
};

// PerfettoModule is perfetto_module: a JSON file for ui.perfetto.dev. Calls of user functions are intervals
// of their thread, the bytes of DFs created and destroyed so far are counters. Times are when events came, in
// microseconds since the start. Threads pass their text on 64 kB at a time.
class PerfettoModule : public IEventModule {
  public:
    PerfettoModule() : start_(std::chrono::steady_clock::now()), created_(0), destroyed_(0) {}
    void registerEvents() override {
        out_.open(text("file", "perfetto.json"));
        out_.write("[\n{\"name\":\"process_name\",\"ph\":\"M\"," + place(0) +
                   ",\"args\":{\"name\":\"program\"}}");
        EventsManager *events = EventsManager::instance();
        events->connect("GlobalEvents", "onForeignStarted", [this](const Event &e, const Value *v,
                                                                   std::size_t n) {
            mine().open.push_back(std::make_pair(function(e, v, n), now()));
        });
        events->connect("GlobalEvents", "onForeignEnded", [this](const Event &e, const Value *v,
                                                                 std::size_t n) {
            Thread &t = mine();
            const std::string name = function(e, v, n);
            for (std::size_t i = t.open.size(); i > 0; i--) {
                if (t.open[i - 1].first != name) continue;
                interval(t, name, t.open[i - 1].second, "{}");
                t.open.resize(i - 1);
                break;
            }
        });
        for (const char *name : {"onCreate", "onCreateSize"}) size(name, created_);
        for (const char *name : {"onDestroy", "onDestroySize"}) size(name, destroyed_);
    }
    void finish() override {
        threads_.all([this](Thread &t) {
            for (const std::pair<std::string, double> &f : t.open)
                interval(t, f.first, f.second, "{\"unfinished\":true}");
            out_.write(t.text);
        });
        out_.write("\n]\n");
        out_.close();
    }

  private:
    struct Thread {
        std::vector<std::pair<std::string, double>> open; // functions that have not returned, and since when
        std::string text;
        std::size_t id = 0;
    };
    Thread &mine() {
        Thread &t = threads_.get();
        t.id = detail::thread_state()->index + 1;
        return t;
    }
    static std::string function(const Event &e, const Value *v, std::size_t n) {
        if (n == 0 || v[0].type != Value::Text)
            throw std::runtime_error(e.key() + " must have a function's name as its first argument");
        return v[0].text;
    }
    double now() const {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
    }
    static std::string place(std::size_t thread) {
        return "\"pid\":" + std::to_string(::getpid()) + ",\"tid\":" + std::to_string(thread);
    }
    void size(const char *name, std::atomic<std::int64_t> &sum) {
        EventsManager::instance()->connect(
            "DFEvents", name, [this, &sum](const Event &e, const Value *v, std::size_t n) {
                const std::int64_t bytes = n ? v[n - 1].size() : -1;
                if (bytes < 0) throw std::runtime_error(e.key() + " has no size as its last argument");
                sum += bytes;
                Thread &t = mine();
                put(t, "{\"name\":\"DFSizer\",\"cat\":\"DF\",\"ph\":\"C\",\"ts\":" +
                           std::to_string(now()) + ",\"dur\":0," + place(t.id) +
                           ",\"args\":{\"created\":" + std::to_string(created_.load()) +
                           ",\"destroyed\":" + std::to_string(destroyed_.load()) + "}}");
            });
    }
    void interval(Thread &t, const std::string &name, double from, const char *args) {
        put(t, "{\"name\":" + json(name) + ",\"cat\":\"ForeignBlock\",\"ph\":\"X\",\"ts\":" +
                   std::to_string(from) + ",\"dur\":" + std::to_string(now() - from) + "," + place(t.id) +
                   ",\"args\":" + args + "}");
    }
    void put(Thread &t, const std::string &record) {
        t.text += ",\n" + record;
        if (t.text.size() < 65536) return;
        std::lock_guard<std::mutex> guard(lock_);
        out_.write(t.text);
        t.text.clear();
    }
    static std::string json(const std::string &s) {
        std::string out = "\"";
        for (char c : s) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
            if (c == '"' || c == '\\') out += std::string("\\") + c;
            else out += static_cast<unsigned char>(c) < 0x20 ? std::string(code) : std::string(1, c);
        }
        return out + "\"";
    }
    std::chrono::steady_clock::time_point start_;
    std::atomic<std::int64_t> created_, destroyed_;
    PerThread<Thread> threads_;
    std::mutex lock_;
    Output out_;
};

} // namespace whyslow
