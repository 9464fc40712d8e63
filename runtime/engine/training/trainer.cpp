#include "runtime/engine/training/trainer.h"

#include <sys/resource.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/engine/training/calibration.h"
#include "runtime/engine/training/event_file.h"
#include "runtime/engine/training/loss_curve.h"
#include "runtime/engine/training/same_states.h"
#include "runtime/engine/training/trainer_plan.h"
#include "runtime/plan/plan_costs.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

constexpr const char* kLargestNorm = "largest_gradient_norm";  // of an update that the plan makes
constexpr int64_t kMostSkipped = 20;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// Returns the value of a scalar output; nothing if the entry has none of that name.
std::optional<double> scalar_output(std::span<const HostTensor> outputs, std::string_view name) {
  for (const HostTensor& t : outputs)
    if (t.name == name && t.dtype == DType::f32 && t.bytes.size() == sizeof(float)) return t.as<float>()[0];
  return {};
}

void require_bounds(const Session& session, const TrainerOptions& options, const BatchStream& stream) {
  const PlanEntry& entry = session.entry(fed_entry(session.plan(), options));
  try {
    session.unify(entry, stream.largest());
  } catch (const Error& error) {
    fail("--batch {} does not fit the plan: {}", options.batch, error.what());
  }
}

bool has_best_checkpoint(const std::filesystem::path& run) {
  return std::filesystem::exists(run / "best") && !CheckpointDirectory(run / "best", 1).list().empty();
}

/// Another run's checkpoints are neither continued by accident nor mixed with this one's, nor is its best one
/// lost.
void require_fresh(const CheckpointDirectory& checkpoints, const TrainerOptions& options) {
  if (!checkpoints.list().empty()) {
    if (!options.resume)
      fail("'{}' holds a run already: continue it with --resume, or choose another directory",
           options.run_directory.string());
    return;
  }
  if (has_best_checkpoint(options.run_directory))
    fail(
        "'{}' holds a run already, of which only the best checkpoint is left: choose another directory, with "
        "--weights={}/best to begin there",
        options.run_directory.string(), options.run_directory.string());
}

/// Returns the results of train_step or apply: both give the mean loss of the whole update.
Trainer::Update figures(std::span<const HostTensor> outputs) {
  return {scalar_output(outputs, "loss").value_or(kNotANumber), scalar_output(outputs, "gradient_norm"),
          scalar_output(outputs, "loss_scale"), scalar_output(outputs, "skipped_steps")};
}

/// Runs f, a part of the run at `where`; an anomaly in it is named by that place.
template <typename F>
auto at_place(const std::string& where, const std::string& end, F f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.status() != Status::numeric) throw;
    throw Error(fmt::format("{}: {}{}", where, error.what(), end), Status::numeric);
  }
}

bool is_due(int64_t every, int64_t step) { return every > 0 && step % every == 0; }

}  // namespace

Trainer::Trainer(Session& session, TrainerOptions options, DataSplit data)
    : session_(session), ranks_(session.ranks()), options_(std::move(options)), data_(std::move(data)) {
  require_mesh(session_.plan(), session_.executor().ranks());
  options_.data_ranks = ranks_.data_ranks();
  options_.validate();
  require_entries(session_.plan(), options_);
  make_pipeline();
  const bool writes = !options_.run_directory.empty() && ranks_.is_first();
  std::string looks = writes ? fingerprint() : std::string();
  if (options_.pack) pack_data();
  stream_ = make_stream(data_.train, batch_options());
  set_steps();
  require_bounds(session_, options_, *stream_);
  if (options_.on_spike == SpikeAction::skip && !session_.plan().find_state(kLargestNorm))
    fail(
        "on_spike is skip, but the plan cannot skip updates: it has no state '{}'; train the description of "
        "the "
        "model with --on-spike skip",
        kLargestNorm);
  if (options_.eval_every > 0)
    held_back_ = make_list(data_.held_back, batch_options(), options_.eval_batches);
  if (!writes) return;
  make_directories(options_.run_directory);
  lock_ = shared_process_lock(options_.run_directory / "run.lock");
  options_.data = std::move(looks);
  checkpoints_.emplace(options_.run_directory / "checkpoints", options_.keep_checkpoints);
  if (options_.keeps_best()) best_checkpoints_.emplace(options_.run_directory / "best", 1);
  require_fresh(*checkpoints_, options_);
}

void Trainer::tell(const std::function<void(TrainerObserver&)>& what) const {
  for (TrainerObserver* observer : observers_) what(*observer);
}

/// Ranks that wait for one that has failed end with its Error.
TrainingResult Trainer::run() {
  try {
    return run_steps();
  } catch (const std::exception& error) {
    ranks_.report_failure(error.what());
    throw;
  }
}

TrainingResult Trainer::run_steps() {
  if (!restored_) restore();
  restored_ = false;  // another run begins anew
  const int64_t first = result_.step;
  require_same_states(session_, ranks_, first);
  begin();
  std::ofstream metrics;
  std::optional<JsonLines> lines;
  std::optional<EventFileObserver> events;
  const size_t callers = observers_.size();
  if (checkpoints_) {
    metrics.open(options_.run_directory / "metrics.jsonl", std::ios::app);
    observers_.push_back(&lines.emplace(metrics));
    observers_.push_back(&events.emplace(options_.run_directory / "events"));
  }
  struct Closing {
    Trainer& trainer;
    size_t callers;
    ~Closing() {
      trainer.tell([&](TrainerObserver& o) { o.finished(trainer.result_.step); });
      trainer.observers_.resize(callers);
    }
  } closing{*this, callers};
  tell([&](TrainerObserver& o) { o.started(first, options_.steps); });
  tell_packing();
  if (first == 0) calibrate();
  if (first == 0) record_evaluation(0);
  while (result_.step < options_.steps && !result_.stopped_early && !result_.without_improvement) {
    train(result_.step);
    after_step(result_.step);
  }
  draw_curve();
  return result_;
}

void Trainer::calibrate() {
  if (!calibrates(session_)) return;
  stream_->fill(0, ranks_.data_rank(), batch_);
  if (const int64_t count = calibrate_bounds(session_, batch_.inputs()); count > 0)
    tell([&](TrainerObserver& o) {
      o.message(fmt::format("{} bounds of activations are the largest magnitudes in the first batch", count));
    });
}

int64_t Trainer::restore() {
  result_ = {};
  const std::optional<CheckpointInfo> info =
      options_.resume ? restore_at_all_ranks() : std::optional<CheckpointInfo>();
  restored_ = true;
  if (!info) return 0;
  result_.step = info->step;
  result_.checkpoint = info->path;
  TrainerOptions before;
  read_json(info->trainer, before);
  go_on_in_data(before, info->step);
  tell_changes(before, info->step);
  return result_.step;
}

/// Restores the newest complete checkpoint, which the first rank finds; the others read the same.
std::optional<CheckpointInfo> Trainer::restore_at_all_ranks() {
  constexpr int64_t kNone = -1;
  const auto log = [&](std::string_view text) { tell([&](TrainerObserver& o) { o.message(text); }); };
  std::optional<CheckpointInfo> info;
  if (checkpoints_) info = checkpoints_->restore(session_, log);
  const int64_t step = ranks_.largest(info ? info->step : kNone);
  if (checkpoints_ || step == kNone) return info;
  const std::filesystem::path path = checkpoint_path(options_.run_directory / "checkpoints", step);
  if (!std::filesystem::exists(path))
    fail(
        "rank {} does not find '{}', which rank 0 resumes from: the run directory must be one that all ranks "
        "see",
        ranks_.rank(), path.string());
  return read_checkpoint(path, session_);
}

void Trainer::begin() {
  history_ = {};
  tokens_ = 0;
  spikes_ = SpikeDetector(options_.spike_factor);
  best_ = BestEvaluation(options_.metric.empty() ? "loss" : options_.metric);
  if (checkpoints_) restore_files();
  if (options_.on_spike == SpikeAction::skip) spikes_.restore(ranks_.of_first(spikes_.state()));
  skipped_in_succession_ = 0;
  result_.without_improvement = ranks_.largest(ranks_.is_first() && is_without_improvement() ? 1 : 0) > 0;
}

void Trainer::restore_files() {
  history_ = truncate_metrics(options_.run_directory / "metrics.jsonl", result_.step);
  if (!history_.train.empty()) result_.loss = history_.train.back().second;
  tokens_ = history_.tokens;
  if (!history_.held_back.empty() && history_.held_back.back().first == result_.step)
    result_.held_back_loss = history_.held_back.back().second;
  for (size_t i = 0; i < history_.train.size(); ++i)
    if (is_no_spike(history_.gradient_norms[i]))
      spikes_.add(history_.train[i].second, history_.gradient_norms[i]);
  restore_best();
  write_file(options_.run_directory / "options.json", to_json(options_));
}

bool Trainer::is_no_spike(std::optional<double> norm) const {
  return options_.on_spike != SpikeAction::skip || (norm && *norm <= spikes_.largest_norm());
}

bool Trainer::is_without_improvement() const {
  return options_.early_stopping > 0 && best_.without_improvement() >= options_.early_stopping;
}

void Trainer::restore_best() {
  if (!best_checkpoints_) return;
  best_checkpoints_->remove_after(result_.step);
  for (const EvaluationRecord& record : history_.evaluations)
    if (is_compared(record.step)) best_.restore(record);
  const auto left = best_checkpoints_->list();
  if (!left.empty()) result_.best = left.back();
}

void Trainer::train(int64_t step) {
  const auto begin = Clock::now();
  const double rate = schedule_.at(step);
  session_.scalar("learning_rate") = static_cast<float>(rate);
  limit_norm();
  const Update done = at_place(fmt::format("training stopped at step {}", step + 1), last_good(),
                               [&] { return update(step); });
  result_.step = step + 1;
  result_.loss = done.loss;
  if (!skips_spike(step + 1, done)) {
    check_finite(step + 1, done);
    check_spike(step + 1, done);
  }
  // Ranks that share a model read the same tokens, and each does a part of the work.
  double work[] = {ranks_.counts() ? static_cast<double>(update_tokens_) : 0.0, flops_};
  ranks_.add_up_of_all(work);
  tokens_ += static_cast<int64_t>(work[0]);
  const double milliseconds = milliseconds_since(begin);
  const StepRecord record{.step = step + 1,
                          .loss = result_.loss,
                          .learning_rate = rate,
                          .gradient_norm = done.gradient_norm.value_or(kNotANumber),
                          .milliseconds = milliseconds,
                          .tokens_per_second = work[0] / (milliseconds / 1000),
                          .gflops_per_second = work[1] / (milliseconds * 1e6),
                          .peak_gflops_per_second = peak_flops * static_cast<double>(ranks_.count()) / 1e9,
                          .tokens = tokens_,
                          .peak_bytes = peak_bytes(),
                          .loss_scale = done.loss_scale,
                          .skipped_steps = done.skipped_steps};
  history_.train.emplace_back(record.step, record.loss);
  history_.gradient_norms.push_back(done.gradient_norm);
  tell([&](TrainerObserver& o) { o.stepped(record); });
}

Trainer::Update Trainer::update(int64_t step) {
  flops_ = 0, update_tokens_ = 0;
  const int64_t micro_steps = options_.gradient_accumulation;
  if (!pipeline_ && micro_steps == 1) return figures(micro_step("train_step", step, 0));
  if (pipeline_) pipeline_->accumulate(micro_steps);
  for (int64_t i = 0; !pipeline_ && i < micro_steps; ++i) micro_step("accumulate", step, i);
  session_.set_random(static_cast<uint32_t>(options_.seed), step);
  ranks_.progress("the update", step + 1);
  return figures(session_.run("apply", {}));
}

std::vector<HostTensor> Trainer::micro_step(std::string_view entry, int64_t step, int64_t index) {
  const int64_t place = index * ranks_.data_ranks() + ranks_.data_rank();
  ranks_.progress("training", step + 1);
  stream_->fill(options_.overfit_one_batch ? 0 : step, place, batch_);
  const std::vector<InputTensor> inputs = batch_.inputs();
  session_.set_random(static_cast<uint32_t>(options_.seed), step, index);
  update_tokens_ += batch_.tokens;
  count_flops(session_.entry(entry), session_.unify(session_.entry(entry), inputs));
  return session_.run(entry, inputs);
}

bool Trainer::Update::skipped() const {
  return loss_scale.value_or(0) > 1 && gradient_norm && !std::isfinite(*gradient_norm);
}

void Trainer::check_finite(int64_t step, const Update& done) {
  const bool loss_bad = !std::isfinite(done.loss);
  if (!loss_bad && done.skipped())
    return tell([&](TrainerObserver& o) {
      o.message(fmt::format("step {} is left out: a gradient overflowed at a loss scale of {}", step,
                            *done.loss_scale));
    });
  if (!loss_bad && std::isfinite(done.gradient_norm.value_or(0))) return;
  stop_at(step, fmt::format("the {} is {}", loss_bad ? "loss" : "gradient norm",
                            loss_bad ? done.loss : *done.gradient_norm));
}

void Trainer::limit_norm() {
  if (options_.on_spike == SpikeAction::skip) session_.scalar(kLargestNorm) = spikes_.largest_norm();
}

bool Trainer::skips_spike(int64_t step, const Update& done) {
  if (options_.on_spike != SpikeAction::skip) return false;
  const double norm = done.gradient_norm.value_or(kNotANumber), largest = spikes_.largest_norm();
  if (norm <= largest) {
    spikes_.add(done.loss, norm);
    skipped_in_succession_ = 0;
    return false;
  }
  if (++skipped_in_succession_ == kMostSkipped)
    stop_at(step, fmt::format("{} successive updates were skipped; the gradient norm is {:.4g}, and at most "
                              "{:.4g} is no spike",
                              kMostSkipped, norm, largest));
  tell([&](TrainerObserver& o) {
    o.message(fmt::format("step {} is skipped: the gradient norm is {:.4g}, and at most {:.4g} is no spike",
                          step, norm, largest));
  });
  return true;
}

/// An update that the plan has skipped is no spike. The first rank decides, because only it has the means of
/// a resumed run; the other ranks end by its failure.
void Trainer::check_spike(int64_t step, const Update& done) {
  if (options_.on_spike != SpikeAction::stop || done.skipped() || !ranks_.is_first()) return;
  const std::string spike = spikes_.add(done.loss, done.gradient_norm);
  if (!spike.empty()) stop_at(step, spike);
}

void Trainer::stop_at(int64_t step, const std::string& problem) const {
  draw_curve();
  std::string message = fmt::format("training stopped at step {}: {}", step, problem);
  message += last_good() + "; try a lower learning rate or more warm-up";
  if (explain_anomaly) message += "; " + explain_anomaly(batch_.inputs());
  throw Error(message, Status::numeric);
}

std::string Trainer::last_good() const {
  return result_.checkpoint.empty()
             ? (result_.best.empty() ? "; there is no checkpoint yet"
                                     : fmt::format("; the best state is '{}'", result_.best.string()))
             : fmt::format("; the last good state is '{}'", result_.checkpoint.string());
}

/// The optimizer multiplies no matrices, so that micro-steps are all there is to an update.
void Trainer::count_flops(const PlanEntry& entry, const SymbolValues& sizes) {
  EntryFlops& known = entry_flops_[&entry];
  if (sizes != known.sizes) known = {sizes, matrix_flops(entry, sizes)};
  flops_ += known.flops;
}

void Trainer::after_step(int64_t step) {
  const bool last = step == options_.steps;
  const bool asked = !last && should_stop && should_stop();
  result_.stopped_early = ranks_.largest(asked ? 1 : 0) > 0;
  if (is_due(options_.eval_every, step) || last || result_.stopped_early) record_evaluation(step);
  const bool ending = last || result_.stopped_early || result_.without_improvement;
  if (is_due(options_.sample_every, step) || (last && options_.sample_every > 0)) sample(step);
  if (is_due(options_.checkpoint_every, step) || ending) save(step);
}

void Trainer::sample(int64_t step) {
  ranks_.progress("a sample", step);
  if (!sampler) return;
  const std::string text = sampler(step);
  tell([&](TrainerObserver& o) { o.sampled(step, text); });
}

/// Each rank takes some of the batches.
EvaluationSums Trainer::evaluate_at_all_ranks() {
  RunEvaluation run;
  if (pipeline_) run = [&](const Batch& batch) { return pipeline_->evaluate(batch); };
  const EvaluationSums own = evaluate_batches(
      session_, *held_back_, share_of_evaluation(), [&] { ranks_.progress("an evaluation", result_.step); },
      run, token_targets);
  return added_up(own);
}

/// A stage of a pipeline without the loss has no classes, and needs their number for the sum.
EvaluationSums Trainer::added_up(EvaluationSums own) const {
  own.classes.resize(static_cast<size_t>(ranks_.largest(std::ssize(own.classes))));
  std::vector<double> sums = {own.loss_sum, own.targets, own.of_tokens ? 1.0 : 0.0,
                              static_cast<double>(own.tokens.targets),
                              static_cast<double>(own.tokens.correct)};
  const size_t first = sums.size();
  for (const ClassCounts& c : own.classes)
    for (const int64_t count : {c.labelled, c.predicted, c.correct})
      sums.push_back(static_cast<double>(count));
  ranks_.add_up(sums);
  EvaluationSums all;
  all.loss_sum = sums[0], all.targets = sums[1], all.of_tokens = sums[2] > 0;
  all.tokens = {static_cast<int64_t>(sums[3]), static_cast<int64_t>(sums[4])};
  for (size_t i = first; i < sums.size(); i += 3)
    all.classes.push_back({static_cast<int64_t>(sums[i]), static_cast<int64_t>(sums[i + 1]),
                           static_cast<int64_t>(sums[i + 2])});
  return all;
}

EvaluationRecord Trainer::evaluate(int64_t step) {
  if (!held_back_) held_back_ = make_list(data_.held_back, batch_options(), options_.eval_batches);
  const auto begin = Clock::now();
  const EvaluationSums found = evaluate_at_all_ranks();
  Metrics metrics = found.metrics();
  if (more_metrics) std::ranges::copy(more_metrics(), std::back_inserter(metrics));
  return {step, found.loss(), static_cast<int64_t>(found.targets), milliseconds_since(begin),
          std::move(metrics)};
}

void Trainer::record_evaluation(int64_t step) {
  if (options_.eval_every == 0) return;
  const EvaluationRecord record = at_place(fmt::format("evaluation stopped after step {}", step), last_good(),
                                           [&] { return evaluate(step); });
  result_.held_back_loss = record.loss;
  result_.metrics = record.metrics;
  history_.held_back.emplace_back(step, record.loss);
  tell([&](TrainerObserver& o) { o.evaluated(record); });
  if (is_compared(step)) compare_with_best(record);
}

bool Trainer::is_compared(int64_t step) const {
  return options_.keeps_best() && (is_due(options_.eval_every, step) || step == options_.steps);
}

/// The first rank decides: another one may have been started without the evaluations of a resumed run, and
/// has none of the metrics that only the first one computes.
void Trainer::compare_with_best(const EvaluationRecord& record) {
  const bool better = ranks_.is_first() && best_.add(record);
  if (ranks_.largest(better ? 1 : 0) > 0) result_.best = save_in("best", best_checkpoints_, record.step);
  result_.without_improvement = ranks_.largest(ranks_.is_first() && is_without_improvement() ? 1 : 0) > 0;
  if (result_.without_improvement) report_no_improvement(record.step);
}

void Trainer::report_no_improvement(int64_t step) const {
  const std::string best = best_.value()
                               ? fmt::format("the best is {:.4f} at step {}", *best_.value(), best_.step())
                               : "none was finite";
  tell([&](TrainerObserver& o) {
    o.message(fmt::format("step {}: no better {} in {} evaluations; {}", step, best_.metric(),
                          best_.without_improvement(), best));
  });
}

void Trainer::save(int64_t step) {
  if (options_.run_directory.empty()) return;
  result_.checkpoint = save_in("checkpoints", checkpoints_, step);
  if (!checkpoints_) return;
  tell([&](TrainerObserver& o) { o.saved(step, result_.checkpoint); });
  draw_curve();
}

std::filesystem::path Trainer::save_in(const char* folder, std::optional<CheckpointDirectory>& directory,
                                       int64_t step) {
  if (options_.run_directory.empty()) return {};
  ranks_.progress("a checkpoint", step);
  require_same_states(session_, ranks_, step);
  share_choices();
  const std::filesystem::path path = checkpoint_path(options_.run_directory / folder, step);
  constexpr size_t kChecksumDigits = 16;
  const auto parts = ranks_.texts_of_all(write_checkpoint_part(path, session_, step), kChecksumDigits);
  const std::string layout = checkpoint_layout(session_.plan());
  const auto layouts = ranks_.texts_of_all(layout, static_cast<size_t>(ranks_.largest(std::ssize(layout))));
  if (directory) directory->save(session_, {step, to_json(options_), {}, {}, layouts}, parts);
  return path;
}

/// A run that resumes from a checkpoint has its choices at all ranks. This run uses the same ones from here
/// on, so both compute the same bits. Pipeline stages have plans and choices of their own.
void Trainer::share_choices() {
  if (ranks_.count() == 1 || pipeline_) return;
  Executor& executor = session_.executor();
  const std::string own = executor.choices(), first = ranks_.of_first(own);
  if (first != own) executor.restore_choices(first);
}

void Trainer::draw_curve() const {
  if (!checkpoints_) return;
  write_file(options_.run_directory / "loss.svg",
             render_loss_curve(history_, "loss of " + options_.run_directory.filename().string()));
}

}  // namespace smelt
