#include "compiler/cli/commands/serve_texts.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/plan/decode_contract.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kStepTokensOfHost = 1024, kStepTokensOfDevice = 8192;  // defaults of --step-tokens
constexpr int64_t kTokensPerRow = 16;  // tokens of a run per row that it may have
constexpr int64_t kLongestText = 512;  // of a model without a limit

bool has_output(const PlanEntry& entry, std::string_view name, size_t rank) {
  return std::ranges::any_of(entry.outputs, [&](const Port& port) {
    return port.name == name && port.dtype == DType::f32 && port.shape.size() == rank;
  });
}

ServedTask task_of_plan(const Plan& plan) {
  const PlanEntry* entry = plan.find_entry(entry::logits);
  if (!entry || plan.entries.size() > 1) return ServedTask::generate;
  if (has_output(*entry, "last_hidden_state", 3)) return ServedTask::embed;
  return has_output(*entry, port::logits.name, 2) ? ServedTask::classify : ServedTask::generate;
}

bool is_sentence_model(const Model& model) { return fs::exists(model.path / "modules.json"); }

ServedTask task_of_spec(const TransformerSpec& spec, const Model& model) {
  if (spec.embedding.image_size > 0) return ServedTask::generate;  // is refused there
  if (spec.head.kind == HeadKind::sequence_classes) return ServedTask::classify;
  if (spec.decoder.layers == 0 || is_sentence_model(model)) return ServedTask::embed;
  return ServedTask::generate;
}

ServedTask own_task(const Model& model) {
  if (model.plan) return task_of_plan(*model.plan);
  return model.spec() ? task_of_spec(*model.spec(), model) : ServedTask::generate;
}

void require_task(const Model& model, ServedTask task, ServedTask own) {
  if (task == own || (model.plan == nullptr && !model.spec())) return;
  const auto* spec = model.spec();
  const std::string& name = kTaskNames[static_cast<size_t>(task) + 1];
  const char* why = nullptr;
  if (!spec)
    why = "the plan has no entry for it; compile the model's directory";
  else if (task == ServedTask::classify)
    why = "the model has no head of classes";
  else if (task == ServedTask::generate && (spec->decoder.layers == 0 || spec->head.kind != HeadKind::lm))
    why = "the model is no decoder with a head for tokens";
  else if (task == ServedTask::embed &&
           (spec->embedding.image_size > 0 || (spec->encoder.layers > 0 && spec->decoder.layers > 0)))
    why = "expected an encoder or a decoder of texts";
  if (why) fail("--task {}: {}: {}", name, model.path.string(), why);
}

int64_t bound_of(const CompileOptions& options, const std::vector<std::string>& factors, int64_t otherwise) {
  for (const Symbols::Bound& bound : options.build.bounds)
    if (bound.factors == factors) return bound.upper;
  return otherwise;
}

/// Returns the length of the longest text by the model and by its files.
int64_t longest_text(const Model& model, const SentenceModules& modules) {
  const auto* spec = model.spec();
  const int64_t own = spec && spec->max_positions > 0 ? spec->max_positions : kLongestText;
  return modules.most_tokens ? std::min(own, static_cast<int64_t>(*modules.most_tokens)) : own;
}

void bound_texts(const Model& model, TextServing& serving, const TextFlags& flags, CompileOptions& options,
                 DefaultBounds& bounds) {
  bounds.add(options.build.bounds, "T", longest_text(model, serving.modules), "the model's files");
  const int64_t length = bound_of(options, {"T"}, 1);
  const int64_t usual = resolved_target(options).can.launches ? kStepTokensOfDevice : kStepTokensOfHost;
  const int64_t step = flags.step_tokens.value_or(std::max(usual, length));
  if (step < length)
    fail("--step-tokens={}: a text may have {} tokens; give at least as many, or a smaller --max T=", step,
         length);
  bounds.add(options.build.bounds, "B", flags.rows.value_or(std::max<int64_t>(1, step / kTokensPerRow)),
             flags.rows ? "--slots" : "--step-tokens");
  if (bound_of(options, {"B", "T"}, 0) == 0) options.build.bounds.push_back({{"B", "T"}, step});
  serving.step_tokens = static_cast<size_t>(step);
}

int32_t padding_of(const Model& model) {
  if (!model.about.is_object()) return 0;
  const Json id = model.about.value("pad_token_id", Json());
  return id.is_number_integer() && id >= 0 ? id.get<int32_t>() : 0;
}

}  // namespace

ServedTask served_task(const Model& model, const std::string& asked) {
  const ServedTask own = own_task(model);
  if (asked == kTaskNames[0]) return own;
  const auto number = std::ranges::find(kTaskNames, asked) - kTaskNames.begin();
  const auto task = static_cast<ServedTask>(number - 1);
  require_task(model, task, own);
  return task;
}

TextServing read_text_serving(const Model& model, ServedTask task, const TextFlags& flags) {
  TextServing serving{.task = task, .modules = {}};
  const bool embeds = task == ServedTask::embed;
  if (!embeds && !flags.pooling.empty())
    fail("--pooling {}: the model classifies texts by its head, which needs no pooling", flags.pooling);
  if (fs::is_directory(model.path)) serving.modules = read_sentence_modules(model.path, embeds);
  if (!embeds && serving.modules.default_prompt)
    fail("{}: default_prompt_name: prompts of a model that classifies are not supported",
         (model.path / "config_sentence_transformers.json").string());
  if (flags.pooling.empty()) return serving;
  const std::vector<Pooling> pooling = {*find_pooling(flags.pooling)};
  if (is_sentence_model(model) && serving.modules.pooling != pooling)
    fail("--pooling {}: {} has another pooling; leave the option out", flags.pooling,
         (model.path / "modules.json").string());
  serving.modules.pooling = pooling;
  return serving;
}

void compile_for_texts(Model& model, TextServing& serving, const TextFlags& flags, CompileOptions& options,
                       DefaultBounds& bounds) {
  options.build.step_tokens = 0;
  if (!model.description) {
    serving.step_tokens = static_cast<size_t>(flags.step_tokens.value_or(0));
    return;
  }
  if (model.spec() && serving.task == ServedTask::embed) {
    TransformerSpec::Head none;
    none.kind = HeadKind::none, none.tied = model.spec()->head.tied;
    model.description->spec.head = none;
  }
  options.build.caches = false, options.build.has_sampler = false, options.build.attention_mask = true;
  options.entries = {entry::logits};
  bound_texts(model, serving, flags, options, bounds);
}

std::unique_ptr<TextBatch> text_batch(const Model& model, Session& session, const TextServing& serving,
                                      size_t most_waiting, bool prepares) {
  return std::make_unique<TextBatch>(session,
                                     TextBatchOptions{.step_tokens = serving.step_tokens,
                                                      .most_waiting = most_waiting,
                                                      .most_tokens = serving.modules.most_tokens.value_or(0),
                                                      .padding = padding_of(model),
                                                      .modules = serving.modules,
                                                      .prepares = prepares});
}

server::TextModel text_model(const Model& model, const TextBatch& batch, const TextServing& serving) {
  server::TextModel result{
      .classifies = batch.classifies(),
      .width = batch.width(),
      .normalizes = serving.modules.normalizes,
      .dimensions = std::min(batch.width(), serving.modules.dimensions.value_or(batch.width()))};
  const Json config = model.about.is_object() ? model.about.value("config", Json()) : Json();
  if (result.classifies) result.scores = read_class_scores(config, model.path, batch.width());
  return result;
}

}  // namespace smelt::cli
