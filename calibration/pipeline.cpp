#include "calibration/pipeline.h"

#include <algorithm>
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
// Enqueued and not yet waited for: one runs while the next is ready behind it.
constexpr std::size_t kInFlight = 2;

}  // namespace

// Two threads serve loads: one reads the file to slots, one has their contents, or host memory, copied.
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

  // First come first served: what is read from the file is copied after what was asked for before it.
  void ask(Load load, std::function<void()> done) {
    const std::scoped_lock lock(mutex);
    auto& queue = load.pieces.empty() && to_read.empty() && !reading ? to_copy : to_read;
    queue.push_back({std::move(load), std::move(done)});
    changed.notify_all();
  }

  void serve(const std::function<void()>& body) {
    try {
      body();
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!error) error = std::current_exception();
      ending = true;
      changed.notify_all();
    }
  }

  void read_file() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || (!to_read.empty() && may_read()); });
      if (ending) return;
      Task task = std::move(to_read.front());
      to_read.pop_front();
      if (!task.load.pieces.empty()) {
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
  bool may_read() const { return to_read.front().load.pieces.empty() || !free_slots.empty(); }

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
      if (task.slot != kSlots) free_slots.push_back(task.slot);
      task.done();
      changed.notify_all();
    }
  }

  Backend& backend;
  const ScratchFile* file;
  DiskQueue disk;
  std::unique_ptr<Stream> compute, copies;
  std::unique_ptr<Event> computed[kInFlight], copied[kInFlight];
  std::vector<Buffer> slots;

  std::mutex mutex;  // of all that follows, and of the contexts' `loaded`
  std::condition_variable changed;
  std::vector<std::size_t> free_slots;
  std::deque<Task> to_read, to_copy;
  bool reading = false;
  bool ending = false;
  std::exception_ptr error;
  std::thread reader, copier;  // last: they use the members above
};

namespace {

struct Run {
  Restoring restoring;
  std::vector<bool> loaded, skipped;  // by stage
  std::size_t asked = 0;              // stages whose loads have been asked for
  std::size_t enqueued = 0;           // stages whose computation has been
  std::size_t computed = 0;           // stages whose computation is done
  bool settling = false;              // the next stage waits for what follows the last one enqueued
  bool waits_for_step = false;
  Answered answered;
};

struct Piece {
  int64_t context = -1;  // -1: of the step
  std::size_t stage = 0;
};

}  // namespace

Pipeline::Pipeline(Backend& backend, const ScratchFile* file, int64_t slot_bytes, int disk_depth)
    : machine_(std::make_unique<Machine>(backend, file, slot_bytes, disk_depth)) {}

Pipeline::~Pipeline() = default;

std::vector<Answered> Pipeline::run(std::vector<Restoring> contexts, const MakeStep& make_step,
                                    int64_t step_tokens) {
  Machine& machine = *machine_;
  std::vector<Run> runs(contexts.size());
  std::vector<int64_t> in_step;  // contexts
  Step step;
  std::size_t step_enqueued = 0;
  std::deque<Piece> in_flight;
  std::size_t next_event = 0, first_event = 0;
  std::size_t answered = 0;
  const Clock::time_point start = Clock::now();
  const auto now_s = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };

  std::unique_lock lock(machine.mutex);
  const auto ask = [&](Run& run, std::size_t stage) {
    const Stage& one = run.restoring.stages[stage];
    run.skipped[stage] = one.skipped && one.skipped();
    if (run.skipped[stage] || !one.load) {
      run.loaded[stage] = true;
      return;
    }
    lock.unlock();
    Load load = one.load();
    machine.ask(std::move(load), [&run, stage] { run.loaded[stage] = true; });
    lock.lock();
  };
  const auto ask_ahead = [&](Run& run) {
    while (run.asked < run.restoring.stages.size()) {
      const auto ahead = static_cast<int64_t>(run.asked - run.computed);
      if (ahead >= run.restoring.ahead || (ahead > 0 && run.restoring.stages[run.asked].waits)) return;
      ask(run, run.asked++);
    }
  };
  const auto is_restored = [&](Run& run) {
    run.answered.restored_s = run.restoring.stages.empty() ? 0 : now_s();
    if (run.restoring.fused) {
      run.answered.first_token_s = now_s();
      ++answered;
    } else {
      run.waits_for_step = true;
    }
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].restoring = std::move(contexts[i]);
    runs[i].loaded.assign(runs[i].restoring.stages.size(), false);
    runs[i].skipped = runs[i].loaded;
    ask_ahead(runs[i]);
    if (runs[i].restoring.stages.empty()) is_restored(runs[i]);
  }

  const auto computes = [](const Run& run) {
    return run.restoring.stages[run.enqueued].compute && !run.skipped[run.enqueued];
  };
  // Stages that compute nothing are done as soon as they are their turn and loaded.
  const auto pass = [&](Run& run) {
    while (run.computed == run.enqueued && run.enqueued < run.restoring.stages.size() &&
           run.loaded[run.enqueued] && !computes(run)) {
      ++run.enqueued, ++run.computed;
      ask_ahead(run);
      if (run.computed == run.restoring.stages.size()) is_restored(run);
    }
  };
  const auto next_piece = [&]() -> std::optional<Piece> {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Run& run = runs[i];
      pass(run);
      if (run.settling || run.enqueued == run.restoring.stages.size()) continue;
      if (run.loaded[run.enqueued] && computes(run)) {
        return Piece{static_cast<int64_t>(i), run.enqueued};
      }
    }
    if (in_step.empty()) {
      int64_t tokens = 0;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].waits_for_step) continue;
        tokens += runs[i].restoring.step_tokens;
        if (tokens > step_tokens && !in_step.empty()) break;
        runs[i].waits_for_step = false;
        in_step.push_back(static_cast<int64_t>(i));
      }
      if (in_step.empty()) return std::nullopt;
      step = make_step(in_step);
      step_enqueued = 0;
    }
    if (step_enqueued < step.size()) return Piece{-1, step_enqueued};
    return std::nullopt;
  };
  const auto enqueue = [&](const Piece& piece) {
    lock.unlock();
    if (piece.context < 0) {
      step[piece.stage](*machine.compute);
    } else {
      runs[static_cast<std::size_t>(piece.context)].restoring.stages[piece.stage].compute(*machine.compute);
    }
    machine.compute->record(*machine.computed[next_event++ % kInFlight]);
    lock.lock();
    in_flight.push_back(piece);
    if (piece.context < 0) {
      ++step_enqueued;
    } else {
      Run& run = runs[static_cast<std::size_t>(piece.context)];
      ++run.enqueued;
      run.settling = static_cast<bool>(run.restoring.stages[piece.stage].after);
    }
  };
  const auto finish_first = [&] {
    lock.unlock();
    machine.computed[first_event++ % kInFlight]->synchronize();
    const Piece piece = in_flight.front();
    if (piece.context >= 0) {
      const Stage& stage = runs[static_cast<std::size_t>(piece.context)].restoring.stages[piece.stage];
      if (stage.after) stage.after();
    }
    lock.lock();
    in_flight.pop_front();
    if (piece.context >= 0) {
      Run& run = runs[static_cast<std::size_t>(piece.context)];
      if (run.restoring.stages[piece.stage].after) run.settling = false;
      ++run.computed;
      ask_ahead(run);
      if (run.computed == run.restoring.stages.size()) is_restored(run);
    } else if (piece.stage + 1 == step.size()) {
      for (const int64_t context : in_step) {
        runs[static_cast<std::size_t>(context)].answered.first_token_s = now_s();
        ++answered;
      }
      in_step.clear();
    }
  };

  while (answered < runs.size()) {
    if (machine.error) break;
    if (in_flight.size() < kInFlight) {
      if (const std::optional<Piece> piece = next_piece()) {
        enqueue(*piece);
        continue;
      }
    }
    if (answered == runs.size()) break;
    if (!in_flight.empty()) {
      finish_first();
    } else {
      machine.changed.wait(lock);
    }
  }
  if (machine.error) std::rethrow_exception(machine.error);
  std::vector<Answered> result;
  for (const Run& run : runs) result.push_back(run.answered);
  return result;
}

}  // namespace kvcap::calibration
