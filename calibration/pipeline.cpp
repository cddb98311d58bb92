#include "calibration/pipeline.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"

namespace kvcap::calibration {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSlots = 3;
// Computations enqueued and not yet waited for: one runs and the next is queued after it.
constexpr std::size_t kInFlight = 2;

}  // namespace

// Two threads serve loads: one reads the file into slots, the other enqueues copies from slots or host
// memory.
struct Pipeline::Machine {
  struct Task {
    Load load;
    std::function<void()> done;
    std::size_t slot = kSlots;  // kSlots: none
  };

  Machine(Backend& of_backend, const ScratchFile* from, int64_t slot_bytes, int disk_depth)
      : backend(of_backend), file(from), disk(disk_depth) {
    compute = backend.make_stream();
    copies = backend.make_stream();
    for (auto& event : computed) event = backend.make_event();
    for (auto& event : copied) event = backend.make_event();
    arrived = backend.make_event();
    if (file) {
      for (std::size_t i = 0; i < kSlots; ++i) {
        slots.push_back(backend.allocate(Place::pinned, slot_bytes));
        free_slots.push_back(i);
      }
    }
    reader = std::thread([this] { serve([this] { read_file(); }); });
    copier = std::thread([this] { serve([this] { copy(); }); });
  }
  ~Machine() {
    {
      const std::scoped_lock lock(mutex);
      ending = true;
    }
    changed.notify_all();
    reader.join();
    copier.join();
  }

  // ---- loads ----

  // Queues a load, first come, first served: it is copied after all loads queued before it.
  void ask(Load load, std::function<void()> done) {
    const std::scoped_lock lock(mutex);
    auto& queue = !load.reads_file() && to_read.empty() && !reading ? to_copy : to_read;
    queue.push_back({std::move(load), std::move(done)});
    changed.notify_all();
  }

  void serve(const std::function<void()>& body) {
    std::exception_ptr thrown;
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    if (thrown) {
      if (!error) error = thrown;
      ending = true;
    }
    --serving;
    changed.notify_all();
  }

  // Drops loads that have not started, and waits for the others and for the device.
  void settle(std::unique_lock<std::mutex>& lock) {
    to_read.clear();
    for (const Task& task : to_copy) free_slot_of(task);
    to_copy.clear();
    changed.wait(lock, [this] { return serving == 0 || loads_idle(); });
    try {
      copies->synchronize();
      compute->synchronize();
    } catch (...) {
      // A failed device runs nothing more.
    }
  }

  void read_file() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || (!to_read.empty() && may_read()); });
      if (ending) return;
      Task task = std::move(to_read.front());
      to_read.pop_front();
      if (task.load.reads_file()) {
        task.slot = free_slots.back();
        free_slots.pop_back();
        reading = true;
        lock.unlock();
        std::vector<IoPiece> pieces;
        int64_t at = 0;
        for (const DiskPiece& piece : task.load.pieces) {
          KVCAP_CHECK(at + piece.bytes <= slots[task.slot].bytes());
          pieces.push_back({piece.offset_bytes, slots[task.slot].at(at), piece.bytes});
          at += piece.bytes;
        }
        disk.read(*file, pieces);
        lock.lock();
        reading = false;
      }
      to_copy.push_back(std::move(task));
      changed.notify_all();
    }
  }
  bool loads_idle() const { return to_read.empty() && to_copy.empty() && !reading && !copying; }
  void free_slot_of(const Task& task) {
    if (task.slot != kSlots) free_slots.push_back(task.slot);
  }
  bool may_read() const { return !to_read.front().load.reads_file() || !free_slots.empty(); }

  void copy() {
    std::deque<Task> under_way;
    std::size_t next_event = 0, first_event = 0;
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return ending || !to_copy.empty() || !under_way.empty(); });
      if (ending) return;
      if (!to_copy.empty() && under_way.size() < kInFlight) {
        Task task = std::move(to_copy.front());
        to_copy.pop_front();
        copying = true;
        lock.unlock();
        task.load.enqueue(*copies, task.slot == kSlots ? nullptr : slots[task.slot].data());
        copies->record(*copied[next_event++ % kInFlight]);
        under_way.push_back(std::move(task));
        lock.lock();
        continue;
      }
      lock.unlock();
      copied[first_event++ % kInFlight]->synchronize();
      lock.lock();
      if (ending) return;
      const Task task = std::move(under_way.front());
      under_way.pop_front();
      free_slot_of(task);
      task.done();
      copying = !under_way.empty();
      changed.notify_all();
    }
  }

  Backend& backend;
  const ScratchFile* file;
  DiskQueue disk;
  std::unique_ptr<Stream> compute, copies;
  std::unique_ptr<Event> computed[kInFlight], copied[kInFlight], arrived;
  std::vector<Buffer> slots;

  std::mutex mutex;  // guards the members below and the runs' `loaded`
  std::condition_variable changed;
  std::vector<std::size_t> free_slots;
  std::deque<Task> to_read, to_copy;
  bool reading = false;
  bool copying = false;
  bool ending = false;
  int serving = 2;  // running threads of the two
  std::exception_ptr error;
  std::thread reader, copier;  // last, because they use the members above
};

// One run() on the calling thread. It holds the machine's mutex except while it enqueues, waits for the
// device or queues loads.
class Pipeline::Session {
 public:
  Session(Machine& machine, std::vector<Restoring> contexts, const MakeStep& make_step, int64_t step_tokens)
      : machine_(machine),
        make_step_(make_step),
        step_tokens_(step_tokens),
        runs_(contexts.size()),
        start_(Clock::now()),
        lock_(machine.mutex) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      Run& run = runs_[i];
      run.restoring = std::move(contexts[i]);
      run.loaded.assign(run.restoring.stages.size(), false);
      run.skipped = run.arrives = run.loaded;
    }
  }
  // Waits for loads and computations that remain after a caller's function threw.
  ~Session() {
    if (!lock_.owns_lock()) lock_.lock();
    machine_.settle(lock_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::vector<Answered> perform() {
    for (Run& run : runs_) {
      ask_ahead(run);
      if (run.restoring.stages.empty()) is_restored(run);
    }
    while (answered_ < runs_.size() && !machine_.error) {
      if (in_flight_.size() < kInFlight) {
        if (std::optional<Work> work = next_work()) {
          enqueue(std::move(*work));
          continue;
        }
      }
      if (answered_ == runs_.size()) break;
      if (!in_flight_.empty()) {
        finish_first();
      } else {
        machine_.changed.wait(lock_);
      }
    }
    if (machine_.error) std::rethrow_exception(machine_.error);
    std::vector<Answered> result;
    for (const Run& run : runs_) result.push_back(run.answered);
    return result;
  }

 private:
  struct Run {
    Restoring restoring;
    // By stage. arrives: the device must still wait for the load.
    std::vector<bool> loaded, skipped, arrives;
    std::size_t asked = 0;     // stages whose loads have been queued
    std::size_t enqueued = 0;  // stages whose computation has been enqueued
    std::size_t computed = 0;  // stages whose computation is done
    bool settling = false;     // waiting for `after` of the last stage enqueued
    bool waits_for_step = false;
    Answered answered;

    bool all_enqueued() const { return enqueued == restoring.stages.size(); }
    bool next_computes() const { return restoring.stages[enqueued].compute && !skipped[enqueued]; }
  };
  // What the device computes next: a stage of a restoration or a part of the step.
  struct Work {
    std::function<void(Stream&)> compute;
    std::function<void()> after, done;  // once computed: without the mutex (may be empty), then with it
  };

  double now_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // ---- loads ----

  void ask(Run& run, std::size_t stage) {
    const Stage& one = run.restoring.stages[stage];
    run.skipped[stage] = one.skipped && one.skipped();
    if (run.skipped[stage] || !one.load) {
      run.loaded[stage] = true;
      return;
    }
    lock_.unlock();
    Load load = one.load();
    lock_.lock();
    // No load precedes it, so that the device can wait for the load instead of this thread.
    if (one.waits && !load.reads_file() && machine_.loads_idle()) {
      load.enqueue(*machine_.copies, nullptr);
      machine_.copies->record(*machine_.arrived);
      run.loaded[stage] = run.arrives[stage] = true;
      return;
    }
    lock_.unlock();
    machine_.ask(std::move(load), [&run, stage] { run.loaded[stage] = true; });
    lock_.lock();
  }

  void ask_ahead(Run& run) {
    while (run.asked < run.restoring.stages.size()) {
      const auto ahead = static_cast<int64_t>(run.asked - run.computed);
      if (ahead >= run.restoring.ahead || (ahead > 0 && run.restoring.stages[run.asked].waits)) return;
      ask(run, run.asked++);
    }
  }

  // ---- what is next ----

  std::optional<Work> next_work() {
    for (Run& run : runs_) {
      pass(run);
      if (run.settling || run.all_enqueued()) continue;
      if (run.loaded[run.enqueued] && run.next_computes()) return next_stage(run);
    }
    if (in_step_.empty()) begin_step();
    if (step_enqueued_ == step_.size()) return std::nullopt;
    const bool last = step_enqueued_ + 1 == step_.size();
    return Work{.compute = std::move(step_[step_enqueued_++]), .done = [this, last] {
                  if (last) end_step();
                }};
  }

  Work next_stage(Run& run) {
    const bool arrives = run.arrives[run.enqueued];
    const Stage& stage = run.restoring.stages[run.enqueued++];
    run.settling = static_cast<bool>(stage.after);
    return {.compute =
                [this, &stage, arrives](Stream& stream) {
                  if (arrives) stream.wait(*machine_.arrived);
                  stage.compute(stream);
                },
            .after = stage.after,
            .done =
                [this, &run, settles = run.settling] {
                  if (settles) run.settling = false;
                  computed(run);
                }};
  }

  // Completes stages without computation once they are loaded and all earlier stages are done.
  void pass(Run& run) {
    while (run.computed == run.enqueued && !run.all_enqueued() && run.loaded[run.enqueued] &&
           !run.next_computes()) {
      ++run.enqueued;
      computed(run);
    }
  }

  void begin_step() {
    step_.clear();
    step_enqueued_ = 0;
    int64_t tokens = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!runs_[i].waits_for_step) continue;
      tokens += runs_[i].restoring.step_tokens;
      if (tokens > step_tokens_ && !in_step_.empty()) break;
      runs_[i].waits_for_step = false;
      in_step_.push_back(static_cast<int64_t>(i));
    }
    if (!in_step_.empty()) step_ = make_step_(in_step_);
  }

  void end_step() {
    for (const int64_t context : in_step_) has_first_token(runs_[static_cast<std::size_t>(context)]);
    in_step_.clear();
    step_.clear();
    step_enqueued_ = 0;
  }

  void enqueue(Work work) {
    lock_.unlock();
    work.compute(*machine_.compute);
    machine_.compute->record(*machine_.computed[next_event_++ % kInFlight]);
    lock_.lock();
    in_flight_.push_back(std::move(work));
  }

  // ---- what is done ----

  void finish_first() {
    const Work work = std::move(in_flight_.front());
    lock_.unlock();
    machine_.computed[first_event_++ % kInFlight]->synchronize();
    if (work.after) work.after();
    lock_.lock();
    in_flight_.pop_front();
    work.done();
  }

  void computed(Run& run) {
    ++run.computed;
    ask_ahead(run);
    if (run.computed == run.restoring.stages.size()) is_restored(run);
  }

  void is_restored(Run& run) {
    run.answered.restored_s = run.restoring.stages.empty() ? 0 : now_s();
    if (run.restoring.fused) {
      has_first_token(run);
    } else {
      run.waits_for_step = true;
    }
  }

  void has_first_token(Run& run) {
    run.answered.first_token_s = now_s();
    ++answered_;
  }

  Machine& machine_;
  const MakeStep& make_step_;
  int64_t step_tokens_;
  std::vector<Run> runs_;
  std::vector<int64_t> in_step_;  // indices of contexts
  Step step_;
  std::size_t step_enqueued_ = 0;
  std::deque<Work> in_flight_;
  std::size_t next_event_ = 0, first_event_ = 0;
  std::size_t answered_ = 0;
  Clock::time_point start_;
  std::unique_lock<std::mutex> lock_;
};

Pipeline::Pipeline(Backend& backend, const ScratchFile* file, int64_t slot_bytes, int disk_depth)
    : machine_(std::make_unique<Machine>(backend, file, slot_bytes, disk_depth)) {}

Pipeline::~Pipeline() = default;

std::vector<Answered> Pipeline::run(std::vector<Restoring> contexts, const MakeStep& make_step,
                                    int64_t step_tokens) {
  return Session(*machine_, std::move(contexts), make_step, step_tokens).perform();
}

}  // namespace kvcap::calibration
