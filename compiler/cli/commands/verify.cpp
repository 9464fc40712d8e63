// smelt verify: a model directory against its recorded references, in float64, of every quantity that
// training and generation consist of.
#include "compiler/cli/commands/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/golden.h"
#include "compiler/cli/commands/verify_generation.h"
#include "compiler/cli/commands/verify_report.h"
#include "compiler/cli/commands/verify_same_bits.h"
#include "compiler/cli/shared/generation_flags.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/rounded_weights.h"
#include "runtime/base/error.h"
#include "runtime/engine/generation/generator.h"

namespace smelt::cli {
namespace {

struct VerifyCommand {
  std::string model;
  CompileFlags flags;
  int threads = 0;
};

constexpr double kScoreBound = 1e-5;
/// Gradients at weights a rounding away: how many of them are computed, and by how many times the largest
/// change among them an error may be as large, because a computation rounds activations as well as weights.
constexpr uint32_t kRoundedDraws = 8;
constexpr double kRoundedChanges = 2;

/// `values` of a segment in the layout of the checkpoint.
std::vector<float> checkpoint_layout(const Segment& segment, std::span<const float> values) {
  std::vector<float> result(values.begin(), values.end());
  if (!segment.transposed) return result;
  const auto rows = static_cast<size_t>(segment.shape[0]), columns = static_cast<size_t>(segment.shape[1]);
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  return result;
}

class Verification {
 public:
  Verification(const VerifyCommand& options, std::filesystem::path directory, const PlanMaker& make)
      : options_(options),
        trains_(options.flags.values.weight_type == WeightType::floats),
        golden_(Golden::open(directory, options.flags.text("precision"), options.flags.text("weight-type"))),
        inputs_(golden_.inputs("input.")),
        recorded_(read_generation_cases(directory)),
        seq2seq_(read_json_file(directory / "config.json").value("is_encoder_decoder", false)),
        make_(make) {
    if (options.flags.values.weight_type > WeightType::int8)
      fail("verify has no bounds for weights of --weight-type={}: expected float or int8",
           options.flags.text("weight-type"));
    model_ = open_model(directory, weights_in(directory));
    make_session(recorded_options(options.flags));
  }

  Verified run() {
    compare_logits();
    if (trains_) {
      compare_loss();
      compare_training();
    } else {
      report_.add_note("loss, gradients, AdamW losses", "left out: weights are bytes, which are not trained");
    }
    if (golden_.greedy_ids().empty() && recorded_.empty()) return report_.result();
    make_session(generation_options());
    compare_ids();
    compare_generation();
    return report_.result();
  }

 private:
  void make_session(const CompileOptions& compiled) {
    session_.reset();
    compile_for(model_, compiled, options_.flags);
    session_ = open_session(model_, session_flags());
  }

  void compile_for(Model& model, const CompileOptions& compiled, const CompileFlags& flags) const {
    compile_model(model, compiled, flags);
    if (make_) model.plan = std::make_shared<const Plan>(make_(*model.description, compiled));
  }

  WeightFlags session_flags() const {
    WeightFlags flags;
    flags.threads = options_.threads;
    return flags;
  }

  /// The entries of which golden.safetensors and golden.json have numbers.
  CompileOptions recorded_options(const CompileFlags& flags) const {
    CompileOptions result = flags.options();
    result.mode = trains_ ? Mode::train : Mode::infer;
    result.build.has_sampler.reset();
    result.build.dropout = 0;
    result.build.hidden_states = golden_.has("output.hidden.0");
    result.build.attention_mask = inputs_.contains("attention_mask");
    result.build.position_ids = inputs_.contains("position_ids");
    result.build.segment_ids = inputs_.contains("segment_ids");
    result.training.optimizer = golden_.optimizer();
    result.training.accumulation = false;
    result.entries = {"logits"};
    if (trains_) result.entries.insert(result.entries.end(), {"train_step", "evaluate"});
    bound_sizes(result.build.bounds);
    return result;
  }

  /// Returns the options of `smelt generate`, for all prompts and beams of a case at once.
  CompileOptions generation_options() const {
    CompileOptions result = options_.flags.options();
    result.mode = Mode::infer;
    default_bound(result.build.bounds, "B", std::max(most_rows(recorded_), std::ssize(golden_.greedy_ids())));
    bound_sizes(result.build.bounds);
    result.entries = generation_entries(model_, result);
    return result;
  }

  /// The sizes of the golden, and of what is generated.
  void bound_sizes(std::vector<Symbols::Bound>& bounds) const {
    const auto greedy = golden_.greedy_ids();
    const int64_t rows = inputs_.begin()->second.shape[0];
    default_bound(bounds, "B", std::max(rows, static_cast<int64_t>(greedy.size())));
    const auto ids = inputs_.find("input_ids");
    if (ids == inputs_.end()) return;
    const std::vector<int64_t>& shape = ids->second.shape;
    if (shape.size() == 3) default_bound(bounds, "C", shape[1]);
    int64_t length = shape.back();
    if (seq2seq_) {
      default_bound(bounds, "S", std::max(length, longest_prompt(recorded_)));
      length = inputs_.at("labels").shape[1];
    }
    for (const auto& row : greedy) length = std::max(length, static_cast<int64_t>(row.size()));
    default_bound(bounds, "T", std::max(length, longest_sequence(recorded_)));
  }

  /// The golden's inputs that the entry takes.
  std::vector<InputTensor> inputs_of(const std::string& entry) {
    if (seq2seq_) inputs_.try_emplace("decoder_input_ids", teacher_forced());
    std::vector<InputTensor> result;
    for (const Port& port : session_->entry(entry).inputs)
      if (const auto tensor = inputs_.find(port.name); tensor != inputs_.end())
        result.push_back(
            {port.name, tensor->second.dtype, tensor->second.shape, tensor->second.bytes.data()});
    return result;
  }

  /// Returns the decoder's input for the labels, as Hugging Face derives it.
  HostTensor teacher_forced() const {
    HostTensor shifted = inputs_.at("labels");
    const auto columns = static_cast<size_t>(shifted.shape[1]);
    const auto labels = inputs_.at("labels").as<int32_t>();
    auto* ids = reinterpret_cast<int32_t*>(shifted.bytes.data());
    const int32_t pad = model_.about.at("pad_token_id").get<int32_t>();
    for (size_t i = 0; i < labels.size(); ++i)
      ids[i] = i % columns == 0    ? first_input(labels.subspan(i, columns))
               : labels[i - 1] < 0 ? pad
                                   : labels[i - 1];
    return shifted;
  }

  /// The decoder's first input for a row of labels.
  int32_t first_input(std::span<const int32_t> labels) const {
    const TransformerSpec* spec = model_.spec();
    if (spec && spec->tokens.last_starts)
      for (size_t i = labels.size(); i-- > 0;)
        if (labels[i] >= 0 && labels[i] != spec->tokens.pad) return labels[i];
    return model_.about.at("decoder_start_token_id").get<int32_t>();
  }

  void compare_logits() {
    for (const HostTensor& output : session_->run("logits", inputs_of("logits"))) {
      const std::string name = "output." + output.name;
      if (golden_.has(name))
        report_.add_tensor(output.name, output.as<float>(), read_floats(golden_.tensors.at(name)),
                           golden_.bounds.logits);
    }
  }

  void compare_loss() {
    double sum = 0, count = 0;
    for (const HostTensor& output : session_->run("evaluate", inputs_of("evaluate")))
      (output.name == "loss_sum" ? sum : count) = output.as<float>()[0];
    report_.add("loss", std::abs(sum / count / golden_.json.at("loss").get<double>() - 1),
                golden_.bounds.loss);
  }

  /// The first step's gradients stay in the state "gradients"; every step's loss is the one before its
  /// update.
  void compare_training() {
    const std::vector<InputTensor> inputs = inputs_of("train_step");
    const std::vector<double> references = golden_.adamw_losses();
    std::vector<double> errors;
    for (size_t i = 0; i < references.size(); ++i) {
      const double loss = train_step(i, inputs);
      if (i == 0) compare_gradients();
      errors.push_back(std::abs(loss / references[i] - 1));
    }
    for (size_t i = 0; i < errors.size(); ++i)
      report_.add(fmt::format("loss of AdamW step {}", i + 1), errors[i], golden_.bounds.adamw);
  }

  /// The loss of one update. A step that an overflow made the plan skip changed nothing but the loss scale:
  /// it is done again.
  double train_step(size_t step, const std::vector<InputTensor>& inputs) {
    constexpr int kMostSkipped = 24;
    const bool scaled = model_.plan->find_state("loss_scale") != nullptr;
    double loss = std::numeric_limits<double>::quiet_NaN();
    for (int attempt = 0; attempt < kMostSkipped; ++attempt) {
      const float skipped = scaled ? session_->scalar("skipped_steps") : 0;
      if (scaled) gradient_scale_ = session_->scalar("loss_scale");
      session_->scalar("learning_rate") = static_cast<float>(golden_.learning_rate());
      session_->set_random(0, static_cast<int64_t>(step));
      for (const HostTensor& output : session_->run("train_step", inputs))
        if (output.name == "loss") loss = output.as<float>()[0];
      if (!scaled || session_->scalar("skipped_steps") == skipped) break;
    }
    return loss;
  }

  struct Gradient {
    std::string name;
    std::vector<float> value, reference;
  };

  /// The first step's gradients by the checkpoint's names and in its layout.
  std::vector<Gradient> gradients(Session& session, float scale) {
    std::vector<Gradient> result;
    for (const Segment& segment : session.plan().find_state("parameters")->segments) {
      const std::string name = recorded_name(segment);
      if (name.empty()) continue;
      std::vector<float> values = session.read_segment("gradients", segment.name);
      for (float& value : values) value /= scale;
      result.push_back(
          {name, checkpoint_layout(segment, values), read_floats(golden_.tensors.at("grad." + name))});
    }
    return result;
  }

  /// Returns the name that the recorded gradient of a segment has; empty where there is none.
  std::string recorded_name(const Segment& segment) const {
    std::vector<std::string> names = segment.checkpoint_names;
    names.push_back(segment.name);
    const auto name = std::ranges::find_if(names, [&](const auto& n) { return golden_.has("grad." + n); });
    return name == names.end() ? "" : *name;
  }

  void compare_gradients() {
    const std::vector<Gradient> all = gradients(*session_, gradient_scale_);
    const std::vector<double> errors = relative_errors(all);
    std::vector<double> bounds(errors.size(), golden_.bounds.each_gradient);
    bounds[0] = golden_.bounds.all_gradients;
    const bool within = std::ranges::equal(errors, bounds, std::ranges::less_equal());
    if (!within && options_.flags.text("precision") != "fp32") widen_by_rounding(bounds);
    report_.add("all gradients as one vector", errors[0], bounds[0]);
    for (size_t i = 0; i < all.size(); ++i)
      report_.add("gradient of " + all[i].name, errors[i + 1], bounds[i + 1]);
    for (const Segment& segment : model_.plan->find_state("parameters")->segments)
      if (recorded_name(segment).empty())
        report_.add_exact("gradient of " + segment.name, "not recorded", false);
    for (const TensorView& tensor : golden_.tensors.tensors()) require_compared(tensor.name, all);
  }

  /// Returns the error of all gradients as one vector, then that of each. The error of a gradient that is
  /// small compared with the others is relative to a hundredth of their size.
  static std::vector<double> relative_errors(const std::vector<Gradient>& all) {
    double square = 0, count = 0, off = 0;
    for (const Gradient& g : all) {
      square += std::pow(norm(g.reference), 2);
      count += static_cast<double>(g.reference.size());
      off += std::pow(error_of(g), 2);
    }
    std::vector<double> errors = {std::sqrt(off / square)};
    for (const Gradient& g : all) {
      const double share = std::sqrt(static_cast<double>(g.reference.size()) / count);
      errors.push_back(error_of(g) / std::max(norm(g.reference), 0.01 * std::sqrt(square) * share));
    }
    return errors;
  }

  static double error_of(const Gradient& g) {
    return g.value.size() == g.reference.size() ? distance(g.value, g.reference) : INFINITY;
  }

  /// Raises bounds to what rounding the weights alone does to exact gradients. Where a unit of a ReLU is near
  /// 0, its sign is a matter of rounding, and a whole row of a gradient with it.
  void widen_by_rounding(std::vector<double>& bounds) {
    VerifyCommand exact = options_;
    exact.flags.values.storage = DType::f32, exact.flags.values.tf32 = false,
    exact.flags.values.masters = true;
    Model model = open_model(options_.model, weights_in(options_.model));
    compile_for(model, recorded_options(exact.flags), exact.flags);
    const std::vector<Gradient> still = gradients_at(model, 0, 0);
    for (uint32_t draw = 0; draw < kRoundedDraws; ++draw) {
      std::vector<Gradient> moved =
          gradients_at(model, unit_roundoff(options_.flags.text("precision")), draw);
      for (size_t i = 0; i < moved.size(); ++i) moved[i].reference = still[i].value;
      const std::vector<double> changes = relative_errors(moved);
      for (size_t i = 0; i < bounds.size(); ++i)
        bounds[i] = std::max(bounds[i], kRoundedChanges * changes[i]);
    }
  }

  /// The first step's gradients of a plan in fp32 whose weights are moved by at most `unit` of their size.
  std::vector<Gradient> gradients_at(const Model& model, double unit, uint32_t draw) {
    const auto session = open_session(model, session_flags());
    move_weights(*session, unit, draw);
    session->scalar("learning_rate") = static_cast<float>(golden_.learning_rate());
    session->run("train_step", inputs_of("train_step"));
    return gradients(*session, 1);
  }

  void require_compared(const std::string& name, const std::vector<Gradient>& all) {
    if (!name.starts_with("grad.")) return;
    if (std::ranges::none_of(all, [&](const Gradient& g) { return "grad." + g.name == name; }))
      report_.add_exact("gradient of " + name.substr(5), "the model has no such parameter", false);
  }

  void compare_ids() {
    const auto references = golden_.greedy_ids();
    if (references.empty()) return;
    const std::vector<Generator::Tokens> prompts = rows_of("prompt.input_ids");
    std::vector<Generator::Tokens> masks;
    if (inputs_.contains("attention_mask")) masks = rows_of("prompt.attention_mask");
    GenerationOptions options = GenerationFlags().options(model_.about, 0);
    options.do_sample = false;
    const size_t begin = seq2seq_ ? 1 : prompts[0].size();
    options.max_new_tokens = static_cast<int64_t>(references[0].size() - begin);
    options.max_length.reset();
    const auto results = Generator(*session_).generate(prompts, options, {}, masks);
    for (size_t row = 0; row < results.size(); ++row)
      compare_row(row, seq2seq_ ? Generator::Tokens{options.decoder_start_token_id} : prompts[row],
                  results[row], references[row]);
  }

  /// Rows of generation.json: what transformers generates with other options.
  void compare_generation() {
    for (const GenerationCase& recorded : recorded_) {
      const GenerationOutcome outcome = compare_case(recorded, *session_, model_.about);
      const std::string what = fmt::format("generated, {}", recorded.name);
      if (!trains_ ||
          (options_.flags.text("precision") != "fp32" && options_.flags.text("precision") != "tf32")) {
        report_.add_note(what, fmt::format("{} of {} rows equal", outcome.equal, outcome.rows));
        continue;
      }
      report_.add_exact(what, fmt::format("{} of {} rows", outcome.equal, outcome.rows),
                        outcome.equal == outcome.rows);
      if (outcome.has_scores) report_.add(what + ", scores", outcome.score_error, score_bound());
    }
  }

  /// Scores are sums of logarithms of probabilities: in tf32 they are as precise as logits.
  double score_bound() const {
    return options_.flags.text("precision") == "tf32" ? golden_.bounds.logits : kScoreBound;
  }

  std::vector<Generator::Tokens> rows_of(const std::string& name) const {
    const HostTensor tensor = golden_.tensor(name);
    const auto length = static_cast<size_t>(tensor.shape.at(1));
    std::vector<Generator::Tokens> rows;
    for (size_t row = 0; row < static_cast<size_t>(tensor.shape[0]); ++row) {
      const auto tokens = tensor.as<int32_t>().subspan(row * length, length);
      rows.emplace_back(tokens.begin(), tokens.end());
    }
    return rows;
  }

  /// Hugging Face pads rows that ended before the longest.
  void compare_row(size_t row, Generator::Tokens found, const Generator::Tokens& fresh,
                   const std::vector<int32_t>& reference) {
    found.insert(found.end(), fresh.begin(), fresh.end());
    const auto [at, expected] = std::ranges::mismatch(found, reference);
    const Json& pad = model_.about["pad_token_id"];
    const bool rest_is_padding =
        std::all_of(expected, reference.end(), [&](int32_t id) { return pad.is_number() && pad == id; });
    const std::string what = fmt::format("greedy ids of prompt {}", row);
    const std::string text = at == found.end() ? fmt::format("{} tokens", fresh.size())
                                               : fmt::format("differs at {}", at - found.begin());
    // Near ties fall either way where logits or weights are rounded.
    if (trains_ && options_.flags.text("precision") == "fp32")
      report_.add_exact(what, text, at == found.end() && rest_is_padding);
    else
      report_.add_note(what, text);
  }

  const VerifyCommand& options_;
  bool trains_;  // weights of a byte are for inference alone
  Golden golden_;
  std::map<std::string, HostTensor> inputs_;
  std::vector<GenerationCase> recorded_;
  float gradient_scale_ = 1;  // of the state "gradients"
  bool seq2seq_;              // a decoder that reads an encoder
  const PlanMaker& make_;     // of other plans than this target's; may be empty
  Model model_;
  std::unique_ptr<Session> session_;
  VerifyReport report_;
};

Verified verify(const VerifyCommand& options, const PlanMaker& make) {
  const std::filesystem::path directory = options.model;
  for (const char* file : {"golden.safetensors", "golden.json"})
    if (!std::filesystem::exists(directory / file))
      fail("{}: there is no {}; references are recorded with record_goldens.py", directory.string(), file);
  try {
    return Verification(options, directory, make).run();
  } catch (const Json::exception& error) {
    fail_with(Status::invalid_file, "{}: {}", (directory / "golden.json").string(), error.what());
  }
}

void run_verify(const VerifyCommand& options) {
  const Verified found = options.flags.values.build.same_bits
                             ? verify_same_bits(options.model, options.flags, options.threads)
                             : verify(options, {});
  fmt::print("{}\n{} compared, {} failed\n", found.table, found.compared, found.failed);
  if (found.failed > 0) exit_with(1);
}

}  // namespace

WeightFlags weights_in(const std::filesystem::path& directory) {
  WeightFlags flags;
  if (std::filesystem::exists(directory / "adapter_config.json"))
    flags.adapter.directory = directory.string();
  return flags;
}

Verified verify_directory(const std::filesystem::path& directory, const CompileFlags& flags,
                          const PlanMaker& make) {
  return verify({directory.string(), flags, 0}, make);
}

void add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyCommand>();
  CLI::App* command = app.add_subcommand(
      "verify", "Compare a model directory with its recorded logits, loss, gradients, AdamW losses and ids");
  command
      ->add_option("model", options->model,
                   "directory with golden.safetensors and golden.json; with --same-bits any model")
      ->required()
      ->check(CLI::ExistingPath);
  command->add_option("--threads", options->threads, "0: all cores")->check(CLI::NonNegativeNumber);
  options->flags.add_to(*command, {OptionGroup::sampling});
  on_call(command, options, run_verify);
}

}  // namespace smelt::cli
