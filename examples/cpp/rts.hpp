// A small task-parallel run-time system: data fragments (DFs) that are assigned once, computational fragments
// (CFs) made of blocks, and threads that run any ready CF.
//
// A CF is a chain of block functions. A block ends with
//     return CONTINUE;   the next block, self.next, can run at once
//     return WAIT;       a DF is missing: the CF continues with the same block when it arrives
//     return EXIT;       the CF has ended
#ifndef RTS_HPP
#define RTS_HPP

#include <cstddef>
#include <mutex>
#include <vector>

#include "whyslow.hpp"

enum BlockRetStatus { EXIT, CONTINUE, WAIT };

struct CF;
typedef BlockRetStatus (*Block)(CF &);

// DF is a piece of data that is produced once and read by a known number of CFs; then its memory is released.
class DF {
  public:
    DF() : uses(0), ready(false) {}
    DF(const DF &) = delete;
    ~DF() { release(); }

    void expect(int readers) { uses = readers; }

    // create allocates the value; user code fills it.
    double *create(std::size_t count);
    const double *data() const { return value.data(); }
    std::size_t count() const { return value.size(); }

  private:
    friend class Rts;
    friend struct CF;
    void release();

    std::vector<double> value;
    std::mutex lock; // of what follows
    int uses;
    bool ready;
    std::vector<CF *> waiting;
};

struct CF {
    Block next;
    int i, j, k;

    // have returns whether the DF has its value; if not, it queues the CF on it and the block must return
    // WAIT.
    bool have(DF &df);
    void post(DF &df); // the value is complete: its waiting CFs continue
    void done(DF &df); // one reader less
};

class Rts {
  public:
    static void submit(const CF &cf);  // a new CF
    static void ready(CF *cf); // one that can run
    static void run(int threads);      // returns when no CF is left
};

#endif
