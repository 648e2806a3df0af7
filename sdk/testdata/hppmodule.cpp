// A module in a shared library.
#include "whyslow.hpp"

#include <iostream>

class Shared : public whyslow::IEventModule {
  public:
    void registerEvents() override {
        step_ = static_cast<int>(number("step", 1));
        CONNECT_EVENT(CFEvents, onCreated, [this](const char *message) {
            count_.get() += step_;
            EMIT_EVENT(SharedEvents, onSeen, message, step_);
        });
    }
    void finish() override {
        int sum = 0;
        count_.all([&sum](int &n) { sum += n; });
        std::cout << name() << " saw " << sum
                  << (whyslow::ModulesManager::instance()->get_module("logger_module") ? ", logged" : "")
                  << std::endl;
    }

  private:
    int step_ = 1;
    whyslow::PerThread<int> count_;
};
WHYSLOW_EXPORT_MODULE(Shared)
