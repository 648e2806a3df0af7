
// ---- JSON with comments and trailing commas -----------------------------------------------------------

#include <algorithm>
#include <fstream>

namespace whyslow {
namespace detail {

// Json is a value with its place in the file, for warnings.
struct Json {
    enum Type { Null, Bool, Number, String, List, Object };
    Type type = Null;
    bool flag = false;
    double number = 0;
    std::string string;
    std::vector<Json> items;       // elements of a List, values of an Object
    std::vector<std::string> keys; // of an Object, in their order; may repeat
    std::vector<Json> key_places;  // where the keys are
    int line = 1, column = 1;

    const char *called() const {
        static const char *const names[] = {"null", "true or false", "a number", "a string", "a list",
                                            "an object"};
        return names[type];
    }
};

class JsonParser {
  public:
    // parse returns false if the text is not JSON; error is then "line:column: what".
    static bool parse(const std::string &text, Json *out, std::string *error) {
        JsonParser p(text);
        if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) p.at_ = p.line_start_ = 3;
        bool ok = p.value(out, 0) && p.space();
        if (ok && p.at_ < text.size()) ok = p.fail("there is more text after the end");
        if (!ok) *error = p.error_;
        return ok;
    }

  private:
    explicit JsonParser(const std::string &text) : s_(text), at_(0), line_start_(0), line_(1) {}

    int peek() const { return at_ < s_.size() ? static_cast<unsigned char>(s_[at_]) : -1; }
    int column() const { return static_cast<int>(at_ - line_start_) + 1; }
    bool fail(const std::string &what) {
        if (error_.empty()) error_ = std::to_string(line_) + ":" + std::to_string(column()) + ": " + what;
        return false;
    }
    void newline() {
        line_++;
        line_start_ = at_ + 1;
    }

    // space skips blanks and comments.
    bool space() {
        for (;; at_++) {
            int c = peek();
            if (c == '\n') newline();
            else if (c == '/') {
                const int next = at_ + 1 < s_.size() ? s_[at_ + 1] : 0;
                if (next == '/') {
                    while (peek() != -1 && peek() != '\n') at_++;
                    at_--;
                } else if (next == '*') {
                    const std::size_t end = s_.find("*/", at_ + 2);
                    if (end == std::string::npos) return fail("a comment is not closed");
                    for (; at_ < end; at_++)
                        if (peek() == '\n') newline();
                    at_ = end + 1;
                } else {
                    return true;
                }
            } else if (c != ' ' && c != '\t' && c != '\r') {
                return true;
            }
        }
    }

    bool value(Json *v, int depth) {
        if (!space()) return false;
        v->line = line_, v->column = column();
        if (depth > 200) return fail("too deeply nested");
        const int c = peek();
        if (c == '{') return members(v, depth, '}');
        if (c == '[') return members(v, depth, ']');
        if (c == '"') {
            v->type = Json::String;
            return string(&v->string);
        }
        if (c == '-' || (c >= '0' && c <= '9')) return number(v);
        if (word("true")) return v->type = Json::Bool, v->flag = true;
        if (word("false")) return v->type = Json::Bool, true;
        if (word("null")) return true;
        return fail(c < 0 ? "the file ends before a value" : "this is not a JSON value");
    }

    bool word(const char *w) {
        const std::size_t n = std::strlen(w);
        if (s_.compare(at_, n, w) != 0) return false;
        at_ += n;
        return true;
    }

    bool members(Json *v, int depth, char close) {
        v->type = close == '}' ? Json::Object : Json::List;
        at_++;
        for (;;) {
            if (!space()) return false;
            if (peek() == close) return at_++, true;
            if (close == '}') {
                Json key;
                key.line = line_, key.column = column();
                if (peek() != '"') return fail("a key in quotation marks or } is missing");
                if (!string(&key.string) || !space()) return false;
                if (peek() != ':') return fail("a colon is missing");
                at_++;
                v->keys.push_back(key.string);
                v->key_places.push_back(key);
            }
            v->items.push_back(Json());
            Json item;
            if (!value(&item, depth + 1) || !space()) return false;
            v->items.back() = std::move(item);
            if (peek() == ',') at_++;
            else if (peek() != close) return fail(std::string("a comma or ") + close + " is missing");
        }
    }

    bool number(Json *v) {
        const std::size_t from = at_;
        if (peek() == '-') at_++;
        const std::size_t digits = at_;
        while (peek() >= '0' && peek() <= '9') at_++;
        bool ok = at_ > digits && (s_[digits] != '0' || at_ == digits + 1);
        if (ok && peek() == '.') {
            const std::size_t point = ++at_;
            while (peek() >= '0' && peek() <= '9') at_++;
            ok = at_ > point;
        }
        if (ok && (peek() == 'e' || peek() == 'E')) {
            at_++;
            if (peek() == '+' || peek() == '-') at_++;
            const std::size_t exponent = at_;
            while (peek() >= '0' && peek() <= '9') at_++;
            ok = at_ > exponent;
        }
        if (!ok) return fail("this is not a number");
        std::istringstream in(s_.substr(from, at_ - from)); // with a decimal point, whatever the locale
        in.imbue(std::locale::classic());
        in >> v->number;
        v->type = Json::Number;
        return true;
    }

    static void utf8(std::string *out, unsigned c) {
        if (c < 0x80) {
            *out += static_cast<char>(c);
            return;
        }
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned first[] = {0, 0xC0, 0xE0, 0xF0};
        *out += static_cast<char>(first[more] | c >> 6 * more);
        for (int i = more - 1; i >= 0; i--) *out += static_cast<char>(0x80 | (c >> 6 * i & 0x3F));
    }

    bool hex(unsigned *v) {
        *v = 0;
        for (int i = 0; i < 4; i++, at_++) {
            const int c = peek();
            const int d = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
            if (d < 0) return fail("four hexadecimal digits are missing");
            *v = *v << 4 | static_cast<unsigned>(d);
        }
        return true;
    }

    bool string(std::string *out) {
        for (at_++;;) {
            const int c = peek();
            if (c < 0x20) return fail("a string is not closed");
            at_++;
            if (c == '"') return true;
            if (c != '\\') {
                *out += static_cast<char>(c);
                continue;
            }
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            const char *p = peek() > 0 ? std::strchr(from, peek()) : nullptr;
            if (p) {
                *out += to[p - from];
                at_++;
            } else if (peek() == 'u') {
                unsigned a, b;
                at_++;
                if (!hex(&a)) return false;
                if (a >= 0xD800 && a < 0xDC00 && s_.compare(at_, 2, "\\u") == 0) {
                    const std::size_t back = at_;
                    at_ += 2;
                    if (!hex(&b)) return false;
                    if (b >= 0xDC00 && b < 0xE000) a = 0x10000 + ((a - 0xD800) << 10) + (b - 0xDC00);
                    else at_ = back;
                }
                utf8(out, a >= 0xD800 && a < 0xE000 ? 0xFFFD : a);
            } else {
                return fail("there is no such escape in a string");
            }
        }
    }

    const std::string &s_;
    std::size_t at_, line_start_;
    int line_;
    std::string error_;
};

} // namespace detail
} // namespace whyslow
