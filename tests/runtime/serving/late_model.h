// The model of remembering_model.h on a device that works in its own time: runs that are repeated go to a
// queue, which a thread works off after random whiles, and their tokens appear while the host looks for them.
// The device chooses tokens as @next_pages does.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "runtime/generation/logits_processors.h"
#include "runtime/generation/sampling.h"
#include "runtime/generation/token_states.h"
#include "tests/runtime/serving/remembering_model.h"

namespace smelt {

inline Plan choosing_pages_plan(int64_t slots, int64_t capacity, int64_t pages) {
  Plan plan = remembering_pages_plan(slots, capacity, pages);
  const Dim b = Dim::symbol("B");
  const auto state = [&](std::string_view name, Role role, DType dtype, Shape shape) {
    plan.states.push_back({std::string(name), role, dtype, std::move(shape), {}, {}});
  };
  state(kNextToken, Role::cache, DType::i32, {slots, 1});
  state(kNextBias, Role::cache, DType::f32, {slots, kWords});
  state(kNextPenalty, Role::cache, DType::f32, {slots, kWords, 1});
  state(kNewTokens, Role::stream, DType::i32, {slots, capacity + 1, 1});
  state(kNewLogProbabilities, Role::stream, DType::f32, {slots, capacity + 1, 1});
  PlanEntry& next = plan.entries.back();
  next.name = kNextPages;
  const auto input = [&](const char* name, DType dtype, int64_t columns) {
    next.inputs.push_back({name, dtype, columns > 1 ? Shape{b, columns} : Shape{b}});
  };
  input("slots", DType::i32, 1), input("numbers", DType::f32, 3), input("integers", DType::i32, 4);
  input("penalty", DType::f32, 1), input("held_back", DType::i32, kHeldBackTokens);
  input("held_back_until", DType::i32, kHeldBackTokens), input("forced", DType::i32, kForcedTokens);
  input("forced_at", DType::i32, kForcedTokens);
  plan.entries.push_back(
      {kBeginPages,
       {{"slot", DType::i32, {1}}, {"bias", DType::f32, {1, kWords}}, {"penalties", DType::f32, {1, kWords}}},
       {},
       {},
       0});
  return plan;
}

class LatePages : public RememberingPages {
 public:
  LatePages(int64_t slots, int64_t capacity, int64_t pages)
      : RememberingPages(pages), places_(static_cast<size_t>(capacity + 1)) {
    const auto rows = static_cast<size_t>(slots);
    for (const size_t columns : {size_t{1}, kColumns, kColumns, places_, places_})
      states_.emplace_back(rows * columns);
  }

  size_t waits = 0;  // of the host for the device

  /// Nothing goes on as long as it is held.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
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
      kept->emplace_back(begin, begin + count * 4);
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
  static constexpr auto kColumns = static_cast<size_t>(kWords);

  /// One row's inputs of @next_pages.
  struct Row {
    std::span<const void* const> inputs;
    size_t row;
    template <typename T>
    const T* at(size_t input, size_t columns) const {
      return static_cast<const T*>(inputs[input]) + row * columns;
    }
  };

  float* floats(size_t state) { return reinterpret_cast<float*>(states_[state].data()); }

  void execute(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
               std::span<void* const> outputs, const Philox& random) {
    if (entry.name == kBeginPages) return begin(inputs);
    if (entry.name != kNextPages) return RememberingPages::run(entry, symbols, inputs, outputs, random);
    break_if_asked();
    const auto rows = static_cast<size_t>(symbols.at("B"));
    const auto width = static_cast<size_t>(*entry.inputs[1].shape[1].constant());
    for (size_t row = 0; row < rows; ++row) next({inputs, row}, width, outputs);
  }

  void begin(std::span<const void* const> inputs) {
    const auto slot = static_cast<size_t>(*static_cast<const int32_t*>(inputs[0]));
    for (const size_t i : {1U, 2U})
      std::copy_n(static_cast<const float*>(inputs[i]), kColumns, floats(i) + slot * kColumns);
  }

  void next(const Row& row, size_t width, std::span<void* const> outputs) {
    const auto slot = static_cast<size_t>(*row.at<int32_t>(3, 1));
    const int32_t given = *row.at<int32_t>(0, 1), token = given < 0 ? states_[0][slot] : given;
    const auto past = static_cast<size_t>(*row.at<int32_t>(2, 1));
    const std::vector<float> logits = read(row.at<int32_t>(1, width), past, {&token, 1});
    if (!outputs.empty() && outputs[0])
      std::ranges::copy(logits, static_cast<float*>(outputs[0]) + row.row * logits.size());
    const int32_t chosen = choose(row, slot, logits, static_cast<int32_t>(past + 1));
    states_[0][slot] = chosen;
    floats(2)[slot * kColumns + static_cast<size_t>(chosen)] = *row.at<float>(6, 1);
    const size_t at = slot * places_ + past + 1;
    std::atomic_ref(floats(4)[at]).store(log_probability(logits, chosen));
    std::atomic_ref(states_[3][at]).store(chosen);
  }

  int32_t choose(const Row& row, size_t slot, std::span<const float> logits, int32_t place) {
    constexpr auto kHeld = static_cast<size_t>(kHeldBackTokens), kForced = static_cast<size_t>(kForcedTokens);
    for (size_t i = 0; i < kForced; ++i)
      if (row.at<int32_t>(10, kForced)[i] == place) return row.at<int32_t>(9, kForced)[i];
    std::vector<double> scores;
    for (size_t word = 0; word < logits.size(); ++word) {
      const float bent = logits[word] + floats(1)[slot * kColumns + word];
      const float by = floats(2)[slot * kColumns + word];
      scores.push_back(by == 0 ? bent : bent < 0 ? bent * by : bent / by);
    }
    for (size_t i = 0; i < kHeld; ++i)
      if (const int32_t held = row.at<int32_t>(7, kHeld)[i];
          held >= 0 && place < row.at<int32_t>(8, kHeld)[i])
        scores[static_cast<size_t>(held)] = kBanned;
    const float* numbers = row.at<float>(4, 3);
    const int32_t* integers = row.at<int32_t>(5, 4);
    SamplingOptions options;
    options.do_sample = true, options.temperature = numbers[0], options.top_p = numbers[1];
    options.min_p = numbers[2], options.top_k = integers[0];
    return draw(candidates(scores, options),
                uniform_number(static_cast<uint32_t>(integers[1]), static_cast<size_t>(place),
                               static_cast<size_t>(integers[3])));
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
  std::vector<std::vector<int32_t>> states_;  // as the plan has them
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queue_;  // with the one that runs
  bool held_ = false;
  std::exception_ptr fault_;
  std::jthread thread_{[this](const std::stop_token& stop) { work(stop); }};
};

struct LateModel {
  LateModel(int64_t slots, int64_t capacity, int64_t pages) {
    auto made = std::make_unique<LatePages>(slots, capacity, pages);
    executor = made.get();
    session = std::make_unique<Session>(
        std::make_shared<const Plan>(choosing_pages_plan(slots, capacity, pages)), std::move(made));
  }
  LatePages* executor;
  std::unique_ptr<Session> session;
};

}  // namespace smelt
