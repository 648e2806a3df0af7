
// ---- The configuration -----------------------------------------------------------------------------------

namespace whyslow {
namespace detail {

inline void say(const std::string &line) {
    const std::string s = "whyslow: " + line + "\n";
    std::fwrite(s.data(), 1, s.size(), stderr); // in one piece, even if others write
}

// match tells whether a text matches a pattern with * and ?.
static bool matches(const char *pattern, const char *text) {
    const char *star = nullptr, *from = nullptr;
    while (*text) {
        if (*pattern == '*') star = pattern++, from = text;
        else if (*pattern == '?' || *pattern == *text) pattern++, text++;
        else if (star) pattern = star + 1, text = ++from;
        else return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

// event_key returns "Namespace::onName" for this and for "Namespace.onName", and "" for anything else.
static std::string event_key(const std::string &s) {
    const std::size_t colons = s.find("::"), point = s.find('.');
    const std::size_t at = colons != std::string::npos ? colons : point;
    if (at == std::string::npos) return "";
    const std::string space = s.substr(0, at), name = s.substr(at + (at == colons ? 2 : 1));
    return space.empty() || name.empty() || name.find_first_of(".:") != std::string::npos
               ? ""
               : space + "::" + name;
}

// main_name returns the main name of an event that has two.
static std::string main_name(const std::string &key) {
    if (key == "DFEvents::onCreateSize") return "DFEvents::onCreate";
    return key == "DFEvents::onDestroySize" ? "DFEvents::onDestroy" : key;
}

// distance returns how many letters must be changed, added or removed to turn a into b.
static std::size_t distance(const std::string &a, const std::string &b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); i++) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); j++) {
            const std::size_t up = row[j];
            row[j] = std::min(std::min(up, row[j - 1]) + 1, corner + (a[i - 1] != b[j - 1]));
            corner = up;
        }
    }
    return row[b.size()];
}

// suggestion returns ` (did you mean "x"?)` if one of the words is similar to s, otherwise "".
static std::string suggestion(const std::string &s, const std::vector<std::string> &words) {
    std::string best;
    std::size_t least = s.size() / 3 + 1;
    for (const std::string &w : words) {
        const std::size_t d = distance(s, w);
        if (d <= least && (best.empty() || d < least)) best = w, least = d;
    }
    return best.empty() ? "" : " (did you mean \"" + best + "\"?)";
}

static const std::vector<std::string> &standard_events() {
    static const std::vector<std::string> keys = {WHYSLOW_STANDARD_EVENTS, "DFEvents::onCreateSize",
                                                  "DFEvents::onDestroySize"};
    return keys;
}

static bool has(const std::vector<std::string> &list, const std::string &s) {
    return std::find(list.begin(), list.end(), s) != list.end();
}

static bool standard_space(const std::string &space) {
    return space == "CFEvents" || space == "DFEvents" || space == "GlobalEvents" || space == "SyncEvents";
}

// ConfigFile reads a file and prints a warning, with its place, for everything wrong in it.
class ConfigFile {
  public:
    std::string path;
    Json root;

    void warn(const Json &at, const std::string &what) const {
        say(path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + what);
    }

    // read returns false, after a message, if there is no such file or it is not a JSON object.
    bool read() {
        std::ifstream in(path.c_str(), std::ios::binary);
        if (!in) {
            say("cannot read " + path + ": " + std::strerror(errno) + "; nothing is profiled");
            return false;
        }
        const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
        std::string error;
        if (!JsonParser::parse(text, &root, &error)) {
            say(path + ":" + error + "; nothing is profiled");
            return false;
        }
        if (root.type != Json::Object) {
            warn(root,
                 std::string("the file must hold an object, not ") + root.called() + "; nothing is profiled");
            return false;
        }
        return true;
    }

    // is tells whether a value has the required type, and otherwise prints a warning.
    bool is(const Json &v, Json::Type type, const std::string &key) const {
        if (v.type == type) return true;
        Json wanted;
        wanted.type = type;
        warn(v, "\"" + key + "\" must be " + wanted.called() + ", not " + v.called() + "; skipped");
        return false;
    }
    void unknown(const Json &place, const std::vector<std::string> &known) const {
        warn(place, "unknown key \"" + place.string + "\"" + suggestion(place.string, known) + "; skipped");
    }
};

// Config is the content of both files. Without a file of events, all events are on.
class Config {
  public:
    struct Module {
        ModuleSettings settings;
        std::string library;
        bool enabled = true;
        int override = -1; // overrideEnabled: -1 not given
    };
    std::map<std::string, Module> modules;
    bool global = true; // globalSettings.enabled
    std::string dir; // the folder of modules_settings.json, searched for libraries
    bool ok = true;

    bool active(const std::string &key) const {
        if (!limited_) return ok;
        const std::string k = main_name(key);
        if (!on_.count(k)) return false;
        std::map<std::string, bool>::const_iterator g = grouped_.find(k);
        return g == grouped_.end() || g->second;
    }

    // on tells whether a module runs. Unasked modules, which the program itself added, also run if the file
    // does not list them.
    bool on(const std::string &name, bool unasked) const {
        std::map<std::string, Module>::const_iterator i = modules.find(name);
        if (i == modules.end()) return unasked;
        return i->second.enabled && (i->second.override >= 0 ? i->second.override == 1 : unasked || global);
    }

    void read_events(const std::string &path) {
        limited_ = true;
        ConfigFile f;
        f.path = path;
        if (!(ok = ok && f.read())) return;
        const std::vector<std::string> known = {"eventsSettings", "groups", "$schema"};
        for (std::size_t i = 0; i < f.root.items.size(); i++) {
            if (!has(known, f.root.keys[i])) f.unknown(f.root.key_places[i], known);
            if (f.root.keys[i] == known[0] && f.is(f.root.items[i], Json::Object, known[0]))
                event_settings(f, f.root.items[i]);
        }
        for (std::size_t i = 0; i < f.root.items.size(); i++)
            if (f.root.keys[i] == known[1] && f.is(f.root.items[i], Json::Object, known[1]))
                groups(f, f.root.items[i]);
    }

    void read_modules(const std::string &path) {
        ConfigFile f;
        f.path = path;
        if (!(ok = ok && f.read())) return;
        const std::size_t slash = path.rfind('/');
        dir = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        for (std::size_t i = 0; i < f.root.items.size(); i++)
            if (f.root.keys[i] == "globalSettings" && f.is(f.root.items[i], Json::Object, "globalSettings"))
                flag(f, f.root.items[i], {"enabled"}, &global);
        for (std::size_t i = 0; i < f.root.items.size(); i++)
            if (f.root.keys[i] != "globalSettings" && f.root.keys[i] != "$schema" &&
                f.is(f.root.items[i], Json::Object, f.root.keys[i]))
                module(f, i);
    }

    // module_name drops a leading "lib" and maps the second spelling of one module to the first.
    static std::string module_name(const std::string &s) {
        const std::string name = s.compare(0, 3, "lib") == 0 && s.size() > 3 ? s.substr(3) : s;
        return name == "prefetto_module" ? "perfetto_module" : name;
    }

  private:
    // flag reads "enabled" of an object whose allowed keys are known.
    static void flag(const ConfigFile &f, const Json &object, const std::vector<std::string> &known,
                     bool *value) {
        for (std::size_t i = 0; i < object.items.size(); i++) {
            if (!has(known, object.keys[i])) f.unknown(object.key_places[i], known);
            if (object.keys[i] == "enabled" && f.is(object.items[i], Json::Bool, "enabled"))
                *value = object.items[i].flag;
        }
    }

    void event_settings(const ConfigFile &f, const Json &spaces) {
        for (std::size_t i = 0; i < spaces.items.size(); i++) {
            if (!f.is(spaces.items[i], Json::Object, spaces.keys[i])) continue;
            spaces_.push_back(spaces.keys[i]);
            for (std::size_t k = 0; k < spaces.items[i].items.size(); k++)
                event(f, spaces.keys[i], spaces.items[i].key_places[k], spaces.items[i].items[k]);
        }
    }

    void event(const ConfigFile &f, const std::string &space, const Json &name, const Json &v) {
        const std::string key = space + "::" + name.string;
        bool enabled = true, rule = false;
        if (v.type == Json::Bool) {
            enabled = v.flag;
        } else if (v.type == Json::Object) {
            static const std::vector<std::string> known = {"enabled", "rule", "args", "functions"};
            for (std::size_t i = 0; i < v.items.size(); i++) {
                if (!has(known, v.keys[i])) f.unknown(v.key_places[i], known);
                if (v.keys[i] == "enabled" && f.is(v.items[i], Json::Bool, "enabled"))
                    enabled = v.items[i].flag;
                rule = rule || v.keys[i] == "rule";
            }
        } else {
            f.warn(v, "event \"" + key + "\" must be true, false or an object, not " +
                          std::string(v.called()) + "; skipped");
            return;
        }
        if (!check(f, name, key, rule)) return;
        if (enabled) on_.insert(std::make_pair(main_name(key), true));
    }

    // check warns about an event that nobody emits.
    bool check(const ConfigFile &f, const Json &place, const std::string &key, bool rule) {
        if (!standard_space(key.substr(0, key.find("::"))) || has(standard_events(), key) || rule)
            return known_.insert(std::make_pair(key, true)), true;
        if (known_.count(key)) return true;
        f.warn(place, "there is no event " + key + suggestion(key, standard_events()) + "; skipped");
        return false;
    }

    void groups(const ConfigFile &f, const Json &all) {
        std::map<std::string, bool> seen;
        for (std::size_t i = 0; i < all.items.size(); i++) {
            const Json &g = all.items[i];
            if (!seen.insert(std::make_pair(all.keys[i], true)).second) {
                f.warn(all.key_places[i], "there is a group \"" + all.keys[i] + "\" already; skipped");
                continue;
            }
            if (!f.is(g, Json::Object, all.keys[i])) continue;
            bool enabled = true;
            flag(f, g, {"enabled", "events"}, &enabled);
            for (std::size_t k = 0; k < g.items.size(); k++) {
                if (g.keys[k] != "events" || !f.is(g.items[k], Json::List, "events")) continue;
                for (const Json &e : g.items[k].items) {
                    if (!f.is(e, Json::String, "event of a group")) continue;
                    const std::string key = event_key(e.string);
                    if (key.empty())
                        f.warn(e, "\"" + e.string + "\" is not an event: write Namespace::onName; skipped");
                    else if (check(f, e, key, false)) {
                        grouped_[main_name(key)] |= enabled;
                        const std::string space = key.substr(0, key.find("::"));
                        if (!standard_space(space) && !has(spaces_, space))
                            f.warn(e, "there is no namespace " + space + suggestion(space, spaces_));
                    }
                }
            }
        }
    }

    void module(const ConfigFile &f, std::size_t at) {
        const std::string name = module_name(f.root.keys[at]);
        if (modules.count(name))
            return f.warn(f.root.key_places[at], "module \"" + name + "\" has settings already; skipped");
        const Json &v = f.root.items[at];
        Module m;
        m.settings.name = name;
        m.settings.warn = [](const std::string &text) { say(text); };
        static const std::vector<std::string> known = {"enabled", "overrideEnabled", "priority", "params",
                                                       "library"};
        for (std::size_t i = 0; i < v.items.size(); i++) {
            const std::string &key = v.keys[i];
            const Json &x = v.items[i];
            if (!has(known, key)) f.unknown(v.key_places[i], known);
            if (key == "enabled" && f.is(x, Json::Bool, key)) m.enabled = x.flag;
            if (key == "overrideEnabled" && f.is(x, Json::Bool, key)) m.override = x.flag;
            if (key == "library" && f.is(x, Json::String, key)) m.library = x.string;
            if (key == "params" && f.is(x, Json::Object, key)) params(f, x, &m.settings.params);
            if (key == "priority" && f.is(x, Json::Number, key)) {
                if (x.number == static_cast<int>(std::max(-1e9, std::min(1e9, x.number))))
                    m.settings.priority = static_cast<int>(x.number);
                else f.warn(x, "\"priority\" must be a whole number; skipped");
            }
        }
        modules[name] = m;
    }

    static void params(const ConfigFile &f, const Json &v, std::map<std::string, Param> *out) {
        for (std::size_t i = 0; i < v.items.size(); i++) {
            const Json &x = v.items[i];
            Param p = {Param::String, x.string, x.number, x.flag, {}};
            bool ok = true;
            if (x.type == Json::Number) p.type = Param::Number;
            else if (x.type == Json::Bool) p.type = Param::Bool;
            else if (x.type == Json::List) {
                p.type = Param::Strings;
                for (const Json &item : x.items) {
                    ok = ok && item.type == Json::String;
                    p.strings.push_back(item.string);
                }
            } else {
                ok = x.type == Json::String;
            }
            if (ok) (*out)[v.keys[i]] = p;
            else
                f.warn(x, "parameter \"" + v.keys[i] +
                              "\" must be a string, a number, true, false or a list of strings; skipped");
        }
    }

    bool limited_ = false;              // there is a file of events
    std::map<std::string, bool> on_;      // enabled events
    std::map<std::string, bool> grouped_; // events in groups: whether any of their groups is enabled
    std::map<std::string, bool> known_;   // events that have been named and may exist
    std::vector<std::string> spaces_ = {"CFEvents", "DFEvents", "GlobalEvents", "SyncEvents"};
};

// find_config returns the path of a configuration file, or "" if there is none.
static std::string find_config(const char *variable, const std::string &given, const char *name) {
    const char *env = std::getenv(variable);
    if (env && *env) return env;
    if (!given.empty()) return given;
    for (const std::string &path : {std::string("config/") + name, std::string(name)})
        if (::access(path.c_str(), F_OK) == 0) return path;
    return "";
}

} // namespace detail
} // namespace whyslow
