// The model of choosing_model.h on a simulated asynchronous device. A call that runs an entry without outputs
// only puts the run into a queue. A thread executes the queued runs after random delays, and their tokens
// appear in states, which the host polls.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "tests/runtime/engine/serving/choosing_model.h"

namespace smelt {

/// The executor, with its queue and its thread.
class LatePages : public RememberingChoice {
 public:
  LatePages(int64_t slots, int64_t capacity, int64_t pages)
      : RememberingChoice(pages), places_(static_cast<size_t>(capacity + 1)) {
    const auto rows = static_cast<size_t>(slots);
    const auto words = static_cast<size_t>(kWords);
    for (const size_t columns : {size_t{1}, words, words, places_, places_, words})
      states_.emplace_back(rows * columns);
  }

  size_t waits = 0;  // number of calls of synchronize()

  /// True: stops the execution of queued runs. False: continues it.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  /// Returns the number of runs that have not ended.
  size_t under_way() {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }

  std::span<std::byte> state(int index) override {
    synchronize();
    return peek(index);
  }
  std::span<std::byte> peek(int index) override {
    return std::as_writable_bytes(std::span(states_[static_cast<size_t>(index)]));
  }
  void synchronize() override {
    ++waits;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
    if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
  }

  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& random) override {
    if (std::ranges::all_of(outputs, [](const void* wanted) { return !wanted; }))
      return repeat(entry, symbols, inputs, random, 1);
    synchronize();
    execute(entry, symbols, inputs, outputs, random);
  }
  void repeat(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
              const Philox& random, int) override {
    auto kept = std::make_shared<std::vector<std::vector<std::byte>>>();
    for (size_t i = 0; i < inputs.size(); ++i) {
      int64_t count = 1;
      for (const Dim& dim : entry.inputs[i].shape) count *= dim.evaluate(symbols);
      const auto* begin = static_cast<const std::byte*>(inputs[i]);
      kept->emplace_back(begin, begin + count * size_of(entry.inputs[i].dtype));
    }
    const std::lock_guard lock(mutex_);
    queue_.push_back([this, &entry, symbols, kept, random] {
      std::vector<const void*> all;
      for (const auto& each : *kept) all.push_back(each.data());
      execute(entry, symbols, all, {}, random);
    });
    changed_.notify_all();
  }

 private:
  ChoiceStates choice_states() {
    const auto floats = [&](size_t state) { return reinterpret_cast<float*>(states_[state].data()); };
    return {states_[0].data(), floats(1), floats(2), states_[3].data(), floats(4), floats(5), places_};
  }

  void execute(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
               std::span<void* const> outputs, const Philox& random) {
    if (entry.name == entry::begin_pages) return begin(inputs, choice_states());
    const auto rows = symbols.contains("B") ? static_cast<size_t>(symbols.at("B")) : 0;
    if (entry.name == entry::sample_allowed) return sample(inputs, rows, choice_states());
    if (entry.name != entry::next_pages && entry.name != entry::mixed_pages)
      return RememberingPages::run(entry, symbols, inputs, outputs, random);
    break_if_asked();
    const bool mixes = entry.name == entry::mixed_pages;
    const auto width = static_cast<size_t>(*entry.inputs[mixes ? 3 : 1].shape[1].constant());
    float* logits = outputs.empty() ? nullptr : static_cast<float*>(outputs[0]);
    if (!mixes) return next(inputs, rows, width, logits, choice_states());
    const auto tokens = static_cast<size_t>(symbols.at("M"));
    shapes.emplace_back(rows, tokens);
    mix(inputs, tokens, rows, width, logits, choice_states());
  }

  void work(const std::stop_token& stop) {
    std::mt19937 random(3);
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !queue_.empty() && !held_; })) {
      const auto& job = queue_.front();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      try {
        job();
      } catch (const Error&) {
        fault_ = std::current_exception();
      }
      lock.lock();
      queue_.pop_front();
      changed_.notify_all();
    }
  }

  size_t places_;
  std::vector<std::vector<int32_t>> states_;  // in the order of the plan; words of 32 bits
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queue_;  // the first may be running
  bool held_ = false;
  std::exception_ptr fault_;
  std::jthread thread_{[this](const std::stop_token& stop) { work(stop); }};
};

/// A session with choosing_pages_plan, or, with `run_tokens`, mixing_pages_plan, and its executor.
struct LateModel {
  LateModel(int64_t slots, int64_t capacity, int64_t pages, int64_t run_tokens = 0,
            const char* target = "test") {
    auto made = std::make_unique<LatePages>(slots, capacity, pages);
    executor = made.get();
    Plan plan = run_tokens > 0 ? mixing_pages_plan(slots, capacity, pages, run_tokens)
                               : choosing_pages_plan(slots, capacity, pages);
    plan.target = target;
    session = std::make_unique<Session>(std::make_shared<const Plan>(std::move(plan)), std::move(made));
  }
  LatePages* executor;
  std::unique_ptr<Session> session;
};

}  // namespace smelt
