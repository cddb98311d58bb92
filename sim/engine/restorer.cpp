#include "engine/restorer.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace kvcap {
namespace {

// Restoration work that takes the share `rate` of the GPU's time from `since_s` to `until_s`.
struct Share {
  double since_s = 0, until_s = 0, rate = 0;
  uint64_t number = 0;
  double taken_s(double at_s) const { return rate * (std::clamp(at_s, since_s, until_s) - since_s); }
};

// State and functions that both fidelities share.
class AnyRestorer : public Restorer {
 public:
  AnyRestorer(Node& node, const LoadRates& routes, LinkObserver observer)
      : node_(node), routes_(routes), observer_(std::move(observer)) {}

  LoadRates current_rates() const override {
    LoadRates rates = routes_;
    for (Tier tier : kTiers) {
      LoadRate& rate = rates[index(tier)];
      if (rate.route) rate.delay_s += node_.lane(tier, Tier::hbm).pending_s();
    }
    rates[index(Tier::hbm)].delay_s = pending_compute_s();
    return rates;
  }

  double pending_compute_s() const override {
    const double now_s = node_.now_s();
    return std::max(0.0, asked_s_ - (now_s - progress_s(now_s)));
  }

  bool may_surprise() const override { return pending_compute_s() > 1e-9; }

 protected:
  Node& node_;
  LoadRates routes_;
  LinkObserver observer_;
  double asked_s_ = 0;  // seconds of computation of all restorations started so far
};

class RequestRestorer : public AnyRestorer {
 public:
  using AnyRestorer::AnyRestorer;

  void start(Restoration restoration, std::function<void(RestoreTimes)> ready) override {
    settle_progress();
    auto run = std::make_shared<Run>();
    run->start_s = node_.now_s();
    run->restoration = std::move(restoration);
    run->compute_s = run->restoration.total_compute_s();
    asked_s_ += run->compute_s;
    if (run->compute_s > 0) ++loading_;
    run->leading_s = leading_compute_s(run->restoration);
    run->rates = routes_;
    // Layers that need no loads are computed immediately, one restoration after the other.
    const double lead_start_s = std::max(run->start_s, lead_free_s_);
    run->lead_end_s = lead_start_s + run->leading_s;
    if (run->leading_s > 0) {
      lead_free_s_ = run->lead_end_s;
      run->rates[index(Tier::hbm)].delay_s = lead_start_s - run->start_s;
    }
    run->ready = std::move(ready);
    ++run->under_way;  // counts start() itself: a transfer may end before it returns
    for (Tier tier : kTiers) {
      const LoadRate& rate = routes_[index(tier)];
      const double alone_s = rate.route ? total_load_s(run->restoration, tier, *rate.route) : 0;
      if (alone_s <= 0) continue;
      ++run->under_way;
      node_.lane(tier, Tier::hbm)
          .move(alone_s, rate.route->latency_s, [this, run, tier, alone_s](TransferPhase phase) {
            phase == TransferPhase::began ? began(run, tier) : ended(run, tier, alone_s);
          });
    }
    if (--run->under_way > 0) {
      expect(*run, lead_start_s, run->lead_end_s, run->leading_s);
    } else {
      // Without loads the end is known now. Like every other end, it is reported through the compute queue.
      node_.restore_compute().run(0, [this, run] { finish(run); });
    }
  }

  // Once all loads have ended, the times of the computation are known.
  bool may_surprise() const override { return loading_ > 0 && AnyRestorer::may_surprise(); }

  // If restoration work arrives faster than the GPU serves it, the excess is queued and progress stands still
  // meanwhile. So progress at a time is the maximum of left_s up to that time, and maxima occur where shares
  // begin.
  double progress_s(double at_s) const override {
    double most_s = std::max(progress_s_, left_s(at_s));
    for (const Share& share : shares_) {
      if (share.since_s > progress_at_s_ && share.since_s < at_s)
        most_s = std::max(most_s, left_s(share.since_s));
    }
    return most_s;
  }

  double when(double progress_s) const override {
    // Progress is linear between the times at which shares begin and end.
    double at_s = node_.now_s();
    if (this->progress_s(at_s) >= progress_s) return at_s;
    for (;;) {
      const double here_s = left_s(at_s);
      if (here_s >= progress_s) return at_s;
      double rate = 1;
      double until_s = std::numeric_limits<double>::infinity();
      for (const Share& share : shares_) {
        if (share.until_s <= at_s) continue;
        const bool on = share.since_s <= at_s;
        if (on) rate -= share.rate;
        until_s = std::min(until_s, on ? share.until_s : share.since_s);
      }
      const double reached_s = at_s + (progress_s - here_s) / rate;
      if (rate > 1e-12 && reached_s <= until_s) return reached_s;
      at_s = until_s;
    }
  }

 private:
  struct Run {
    double start_s = 0;
    Restoration restoration;
    double compute_s = 0;
    double leading_s = 0;  // part of compute_s that precedes the first load
    double lead_end_s = 0;
    LoadRates rates;
    PerTier began_s{};
    int under_way = 0;
    bool began = false;         // the first transfer has begun
    std::vector<Share> shares;  // estimated until the rates of the transfers are known
    std::function<void(RestoreTimes)> ready;
  };
  using RunPtr = std::shared_ptr<Run>;

  // Returns the time up to `at_s` minus the restoration work that has arrived by then.
  double left_s(double at_s) const {
    double taken_s = taken_s_;
    for (const Share& share : shares_) taken_s += share.taken_s(at_s);
    return at_s - taken_s;
  }

  // Stores the progress so far. Called before shares change.
  void settle_progress() {
    progress_s_ = progress_s(node_.now_s());
    progress_at_s_ = node_.now_s();
  }

  static double leading_compute_s(const Restoration& restoration) {
    double leading_s = 0;
    for (const LayerWork& work : restoration.work) {
      for (double bytes : work.load_bytes) {
        if (bytes > 0) return leading_s;
      }
      leading_s += static_cast<double>(work.layers) * work.compute_s;
    }
    return leading_s;
  }

  // Adds an estimated share: `seconds` of the run's work, spread evenly between two times.
  void expect(Run& run, double since_s, double until_s, double seconds) {
    if (seconds <= 0 || until_s - since_s <= 1e-9) return;
    run.shares.push_back({since_s, until_s, seconds / (until_s - since_s), next_share_++});
    shares_.push_back(run.shares.back());
  }

  void began(const RunPtr& run, Tier tier) {
    settle_progress();
    const double now_s = node_.now_s();
    run->began_s[index(tier)] = now_s;
    if (run->compute_s <= run->leading_s || run->began) return;
    run->began = true;
    // Assumes that the machine is idle from here on. Layers without loads may have been computed already.
    const double rest_s = run->compute_s - run->leading_s;
    const double lead_end_s = std::max(now_s, run->lead_end_s);
    const double expected_end_s = now_s + makespan_s(run->restoration, routes_);
    expect(*run, lead_end_s, std::max(expected_end_s, lead_end_s + rest_s), rest_s);
  }

  void ended(const RunPtr& run, Tier tier, double alone_s) {
    LoadRate& rate = run->rates[index(tier)];
    const double first_byte_s = run->began_s[index(tier)] + rate.route->latency_s;
    rate.delay_s = first_byte_s - run->start_s;
    rate.stretch = (node_.now_s() - first_byte_s) / alone_s;
    if (--run->under_way == 0) finish(run);
  }

  void finish(const RunPtr& run) {
    const double now_s = node_.now_s();
    // The end is limited by the pipeline of loads and computation, and by the GPU, which computes for all
    // restorations.
    double restored_s = std::max(now_s, run->start_s + makespan_s(run->restoration, run->rates));
    if (run->compute_s > 0) {
      restored_s = std::max(restored_s, gpu_free_s_ + run->compute_s);
      gpu_free_s_ = std::max(run->start_s, gpu_free_s_) + run->compute_s;
      --loading_;
      settle(*run, now_s, restored_s);
    }
    run->ready({.loaded_s = now_s,
                .restored_s = restored_s,
                .compute_s = run->compute_s,
                .computes_from_s = std::max(run->start_s, restored_s - run->compute_s)});
  }

  // Replaces the estimated shares by the actual ones: the rest of the work ends at `end_s`.
  void settle(const Run& run, double now_s, double end_s) {
    settle_progress();
    double done_s = 0;
    for (const Share& own : run.shares) {
      const double own_s = own.taken_s(now_s);
      done_s += own_s;
      // Shares that have ended may have been counted already.
      if (std::erase_if(shares_, [&](const Share& share) { return share.number == own.number; }) > 0)
        taken_s_ += own_s;
    }
    std::erase_if(shares_, [&](const Share& share) {
      if (share.until_s > now_s) return false;
      taken_s_ += share.taken_s(now_s);
      return true;
    });
    const double left_s = run.compute_s - done_s;
    if (left_s <= 0) return;
    if (end_s - now_s > 1e-9) {
      shares_.push_back({now_s, end_s, left_s / (end_s - now_s), next_share_++});
    } else {
      taken_s_ += left_s;
    }
  }

  std::vector<Share> shares_;
  uint64_t next_share_ = 0;
  int64_t loading_ = 0;    // restorations that compute and whose loads have not ended
  double taken_s_ = 0;     // GPU seconds of ended shares
  double progress_s_ = 0;  // at progress_at_s_
  double progress_at_s_ = 0;
  double gpu_free_s_ = 0;   // end of all restorations' computation so far
  double lead_free_s_ = 0;  // end of all computation that precedes loads
};

class LayerRestorer : public AnyRestorer {
 public:
  LayerRestorer(Node& node, const LoadRates& routes, LinkObserver observer,
                std::function<void(const RestoreActivity&)> observe)
      : AnyRestorer(node, routes, std::move(observer)), observe_(std::move(observe)) {}

  void start(Restoration restoration, std::function<void(RestoreTimes)> ready) override {
    auto run = std::make_shared<Run>();
    run->number = runs_++;
    asked_s_ += restoration.total_compute_s();
    run->ahead = restoration.ahead;
    run->loaded_s = node_.now_s();
    run->ready = std::move(ready);
    int64_t number = 0;
    for (const LayerWork& work : restoration.work) {
      for (int64_t i = 0; i < work.layers; ++i) {
        run->layers.push_back({.work = work, .number = number});
        if (work.form != LayerForm::keys) ++number;
      }
    }
    load_ahead(run);
    // Goes through the World, so that `ready` is never called inside start().
    node_.restore_compute().run(0, [this, run] { compute_next(run); });
  }

  double progress_s(double at_s) const override {
    const ComputeQueue& queue = node_.restore_compute();
    return at_s - queue.served_s() - std::min(pending_s(), at_s - node_.now_s());
  }
  double when(double progress_s) const override {
    const ComputeQueue& queue = node_.restore_compute();
    const double now_s = node_.now_s();
    const double missing_s = progress_s - (now_s - queue.served_s());
    return missing_s <= 0 ? now_s : now_s + pending_s() + missing_s;
  }

 private:
  struct Layer {
    LayerWork work;
    int64_t number = 0;
    int under_way = 0;  // running transfers
    double began_s = 0;
    bool issued = false;
  };
  struct Run {
    uint64_t number = 0;
    std::vector<Layer> layers;
    int64_t ahead = kUnlimited;
    std::size_t issued = 0;  // layers whose loads have been requested
    std::size_t computed = 0;
    bool computing = false;
    PerTier latency_paid{};
    double loaded_s = 0;
    std::function<void(RestoreTimes)> ready;
  };
  using RunPtr = std::shared_ptr<Run>;

  void load_ahead(const RunPtr& run) {
    while (run->issued < run->layers.size()) {
      const auto ahead = static_cast<int64_t>(run->issued - run->computed);
      if (ahead >= run->ahead || (ahead > 0 && run->layers[run->issued].work.waits)) return;
      load(run, run->issued++);
    }
  }

  void load(const RunPtr& run, std::size_t layer) {
    Layer& one = run->layers[layer];
    one.issued = true;
    for (Tier tier : kTiers) {
      const LoadRate& rate = routes_[index(tier)];
      const double alone_s = load_s(one.work, tier, rate);
      if (alone_s <= 0) continue;
      ++one.under_way;
      // A restoration pays a tier's latency once, not per layer.
      const double latency_s =
          std::exchange(run->latency_paid[index(tier)], 1) > 0 ? 0 : rate.route->latency_s;
      node_.lane(tier, Tier::hbm).move(alone_s, latency_s, [this, run, layer, tier](TransferPhase phase) {
        Layer& loaded = run->layers[layer];
        if (phase == TransferPhase::began) {
          loaded.began_s = node_.now_s();
          return;
        }
        --loaded.under_way;
        run->loaded_s = node_.now_s();
        note({name(tier), loaded.number, loaded.work.form, loaded.began_s, node_.now_s()});
        compute_next(run);
      });
    }
  }

  void compute_next(const RunPtr& run) {
    if (run->computing || run->computed == run->layers.size()) return;
    const Layer& next = run->layers[run->computed];
    if (!next.issued || next.under_way > 0) return;
    run->computing = true;
    if (next.work.compute_s <= 0) {
      computed(run);
      return;
    }
    ready_.push_back(run);
    serve();
  }

  // Computes the next layer of the restoration that started first among those with a ready layer.
  void serve() {
    if (serving_ || ready_.empty()) return;
    const auto first = std::min_element(
        ready_.begin(), ready_.end(), [](const RunPtr& a, const RunPtr& b) { return a->number < b->number; });
    const RunPtr run = *first;
    ready_.erase(first);
    serving_ = true;
    const double compute_s = next_compute_s(*run);
    node_.restore_compute().run(compute_s, [this, run, compute_s] {
      const double end_s = node_.now_s();
      // Rounding may put a start at time 0 slightly before it.
      const double start_s = std::max(0.0, end_s - compute_s);
      observer_(Resource::gpu, compute_s, start_s, end_s);
      const Layer& layer = run->layers[run->computed];
      note({"compute", layer.number, layer.work.form, start_s, end_s});
      serving_ = false;
      computed(run);
      serve();
    });
  }

  static double next_compute_s(const Run& run) { return run.layers[run.computed].work.compute_s; }

  double pending_s() const {
    double pending_s = node_.restore_compute().pending_s();
    for (const RunPtr& run : ready_) pending_s += next_compute_s(*run);
    return pending_s;
  }

  void computed(const RunPtr& run) {
    run->computing = false;
    ++run->computed;
    if (run->computed == run->layers.size()) {
      run->ready({run->loaded_s, node_.now_s()});
      return;
    }
    load_ahead(run);
    compute_next(run);
  }

  void note(const RestoreActivity& activity) const {
    if (observe_) observe_(activity);
  }

  std::function<void(const RestoreActivity&)> observe_;
  uint64_t runs_ = 0;
  std::vector<RunPtr> ready_;  // restorations whose next layer can be computed
  bool serving_ = false;
};

}  // namespace

std::unique_ptr<Restorer> make_restorer(Fidelity fidelity, Node& node, const LoadRates& routes,
                                        LinkObserver observer,
                                        std::function<void(const RestoreActivity&)> observe) {
  if (fidelity == Fidelity::layer) {
    return std::make_unique<LayerRestorer>(node, routes, std::move(observer), std::move(observe));
  }
  return std::make_unique<RequestRestorer>(node, routes, std::move(observer));
}

}  // namespace kvcap
