#include "frontend/blocks/adapters.h"

#include <fmt/ranges.h>

#include <cmath>

#include "frontend/blocks/blocks.h"
#include "frontend/tensor_parallel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kWeight = ".weight", kBias = ".bias", kA = ".lora_A.weight", kB = ".lora_B.weight";

bool is_head(const Place& place) {
  static constexpr std::string_view kHeads[] = {"head", "mlm.decoder", "classifier"};
  return llvm::is_contained(kHeads, place.role);
}

/// Returns the module in a parameter's name: "h.0.ln_1" of "h.0.ln_1.bias".
std::string module_of(llvm::StringRef parameter) {
  if (!parameter.consume_back(kWeight)) parameter.consume_back(kBias);
  return parameter.str();
}

std::string replaced_end(llvm::StringRef name, llvm::StringRef end, llvm::StringRef by) {
  name.consume_back(end);
  return name.str() + by.str();
}

/// Returns the sharding of A's inputs or B's outputs: dim `at` is sharded as the weight's dims[dim].
std::optional<Sharding> sharing_of(const std::optional<Sharding>& weight, size_t rank, size_t dim,
                                   size_t at) {
  if (!weight) return {};
  Sharding result{std::vector<std::vector<size_t>>(rank), {}};
  result.dims[at] = weight->dims[dim];
  return result;
}

/// The two matrices of one adapter.
class AdapterBuilder {
 public:
  AdapterBuilder(BlockBuilder& b, const Place& place, int64_t in, int64_t count, int64_t out, int64_t r)
      : b_(b), names_(b.names.parameter(place, "weight")), in_(in), count_(count), out_(out), r_(r) {
    const Shape weight = count > 0 ? Shape{count, out, in} : Shape{out, in};
    shared_ = tensor_parallel(place, "weight", weight, b.graph.module().mesh());
  }

  /// PyTorch's first values of a linear map (kaiming_uniform with a = sqrt 5), or normal ones.
  Value* a() {
    const LoraConfig& config = b_.adapters->config;
    const Initializer init =
        config.gaussian ? Initializer{Initializer::Kind::normal, 1 / static_cast<double>(r_), 0}
                        : Initializer{Initializer::Kind::uniform, 1 / std::sqrt(static_cast<double>(in_)), 0};
    return parameter(kA, {r_, in_}, init, sharing_of(shared_, 2, count_ > 0 ? 2 : 1, 1));
  }

  Value* b() {
    const Initializer zero{Initializer::Kind::value, 0, 0};
    if (count_ == 0) return parameter(kB, {out_, r_}, zero, sharing_of(shared_, 2, 0, 0));
    Value* value = parameter(kB, {count_, out_, r_}, zero, sharing_of(shared_, 3, 1, 1));
    b_.graph.module().find_parameter(value->node()->get(attr::name))->stacked = true;
    return value;
  }

 private:
  Value* parameter(std::string_view end, Shape shape, Initializer init, std::optional<Sharding> sharding) {
    Module::Parameter parameter;
    parameter.name = replaced_end(names_.name, kWeight, end);
    parameter.type = {DType::f32, std::move(shape)};
    parameter.init = init;
    parameter.sharding = std::move(sharding);
    for (const std::string& name : names_.checkpoint_names)
      parameter.checkpoint_names.push_back(std::string(kAdapterPrefix) + replaced_end(name, kWeight, end));
    return b_.graph.parameter(parameter);
  }

  BlockBuilder& b_;
  ParameterName names_;
  int64_t in_, count_, out_, r_;
  std::optional<Sharding> shared_;
};

/// Returns whether a base parameter is trained in addition to the adapters.
bool is_trained(const Module::Parameter& parameter, const Adapters& adapters) {
  const std::string module = module_of(parameter.name);
  if (LoraTargets(adapters.config).saves(module)) return true;
  if (!llvm::StringRef(parameter.name).ends_with(kBias)) return false;
  const LoraConfig::Bias bias = adapters.config.bias;
  return bias == LoraConfig::Bias::all ||
         (bias == LoraConfig::Bias::lora_only && adapters.adapted.contains(module));
}

/// Files of adapters have it under names of their own; PEFT wraps a module that it adapts, and older versions
/// of it wrote the name of one that is not wrapped.
void name_as_adapters(Module::Parameter& parameter, const Adapters& adapters) {
  std::vector<std::string> names;
  const bool wrapped = adapters.adapted.contains(module_of(parameter.name));
  for (const std::string& name : parameter.checkpoint_names) {
    if (wrapped) names.push_back(std::string(kAdapterPrefix) + replaced_end(name, kBias, ".base_layer.bias"));
    names.push_back(std::string(kAdapterPrefix) + name);
  }
  names.insert(names.end(), parameter.checkpoint_names.begin(), parameter.checkpoint_names.end());
  parameter.checkpoint_names = std::move(names);
}

std::string sample_of(const std::set<std::string>& names) {
  std::set<std::string> ends;
  for (llvm::StringRef name : names) ends.insert(name.substr(name.rfind('.') + 1).str());
  return fmt::format("{}", fmt::join(ends, ", "));
}

/// Targets that are no linear maps: embeddings, norms, and a head that is the embedding.
std::vector<std::string> wrong_targets(const Module& module, const TransformerSpec& spec,
                                       const Adapters& adapters) {
  std::vector<std::string> problems;
  const LoraTargets targets(adapters.config);
  if (adapters.config.all_linear) return problems;
  for (const Module::Parameter& parameter : module.parameters) {
    const std::string name = module_of(parameter.name);
    if (adapters.linears.contains(name) || is_adapter_parameter(parameter.name)) continue;
    if (targets.adapts(name, false) && llvm::StringRef(parameter.name).ends_with(kWeight))
      problems.push_back(fmt::format("{} is no linear map: only these can be adapted", name));
  }
  const std::string head = module_of(ParameterNames(spec).parameter({"head"}, "weight").name);
  if (spec.head.kind == HeadKind::lm && spec.head.tied && targets.adapts(head, true))
    problems.push_back(
        fmt::format("{} is tied to the embedding of tokens: an adapter would make two weights of one", head));
  return problems;
}

std::vector<std::string> wrong_modules_to_save(const Module& module, const TransformerSpec& spec,
                                               const Adapters& adapters) {
  // PEFT adds these to every config of this task.
  static constexpr std::string_view kClassifiers[] = {"classifier", "score"};
  std::vector<std::string> problems;
  for (const std::string& saved : adapters.config.modules_to_save) {
    LoraConfig one;
    one.modules_to_save = {saved};
    const LoraTargets only(one);
    const bool found =
        llvm::any_of(module.parameters, [&](const auto& p) { return only.saves(module_of(p.name)); });
    const bool added = adapters.config.task_type.ends_with("_CLS") && llvm::is_contained(kClassifiers, saved);
    if (!found && !added)
      problems.push_back(fmt::format("modules_to_save names {}, which has no parameters", saved));
    const std::string table = module_of(ParameterNames(spec).parameter({"embedding.tokens"}, "weight").name);
    if (spec.head.tied && only.saves(table))
      problems.push_back(fmt::format("modules_to_save names {}, which is also the head", saved));
  }
  return problems;
}

void check(const Module& module, const TransformerSpec& spec, const Adapters& adapters) {
  std::vector<std::string> problems = wrong_targets(module, spec, adapters);
  llvm::append_range(problems, wrong_modules_to_save(module, spec, adapters));
  if (adapters.adapted.empty())
    problems.push_back(
        fmt::format("target_modules match no linear map; there are {}", sample_of(adapters.linears)));
  if (!problems.empty()) fail("adapters: {}", fmt::join(problems, "; "));
}

}  // namespace

bool is_adapter_parameter(std::string_view name) { return name.ends_with(kA) || name.ends_with(kB); }

Value* adapter(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out) {
  if (!b.adapters) return nullptr;
  const std::string module = module_of(b.names.parameter(place, "weight").name);
  const LoraTargets targets(b.adapters->config);
  b.adapters->linears.insert(module);
  if (!targets.adapts(module, is_head(place))) return nullptr;
  b.adapters->adapted.insert(module);
  const LoraTarget target = targets.of(module);
  b.at(place, "lora");
  AdapterBuilder matrices(b, place, *x->shape().back().constant(), count, out, target.r);
  Value* low = b.graph.create(Op::linear, {dropout(b, x, b.adapter_dropout), matrices.a()})->result();
  low = b.graph.mul(low, b.graph.like(low, target.scale));
  if (count > 0) return b.graph.matmul(low, matrices.b(), "btr,sor->btso");
  return b.graph.create(Op::linear, {low, matrices.b()})->result();
}

void finish_adapters(Module& module, const TransformerSpec& spec, const Adapters& adapters) {
  check(module, spec, adapters);
  for (Module::Parameter& parameter : module.parameters) {
    if (is_adapter_parameter(parameter.name)) continue;
    if (is_trained(parameter, adapters))
      name_as_adapters(parameter, adapters);
    else
      parameter.frozen = true;
  }
}

namespace {

/// Returns the family's names for parts of every block, without the text before the last dot.
std::vector<std::string> ends_of(const TransformerSpec& spec, llvm::ArrayRef<const char*> parts) {
  const ParameterNames names(spec);
  std::vector<std::string> ends;
  for (const char* part : parts) {
    llvm::StringRef name = part;
    const std::string source = names.source({name.str()});
    const std::string end = source.substr(source.rfind('.') + 1);
    if (!llvm::is_contained(ends, end)) ends.push_back(end);
  }
  return ends;
}

/// Returns the usual targets of papers and libraries: queries and values.
std::vector<std::string> usual_targets(const TransformerSpec& spec) {
  const bool decodes = spec.decoder.layers > 0;
  if (spec.attention.fused_qkv)
    return ends_of(spec, {decodes ? "decoder.{}.attention.qkv" : "encoder.{}.attention.qkv"});
  return ends_of(
      spec, decodes
                ? llvm::ArrayRef<const char*>{"decoder.{}.attention.query", "decoder.{}.attention.value"}
                : llvm::ArrayRef<const char*>{"encoder.{}.attention.query", "encoder.{}.attention.value"});
}

/// The head that a task trains from initial values; null: the head is that of pretraining.
const char* role_of_new_head(HeadKind kind) {
  switch (kind) {
    case HeadKind::sequence_classes:
    case HeadKind::image_classes:
      return "classifier";
    case HeadKind::token_classes:
      return "token_classifier";
    case HeadKind::spans:
      return "spans";
    case HeadKind::choices:
      return "choices";
    default:
      return nullptr;
  }
}

std::string task_of(const TransformerSpec& spec) {
  if (spec.head.kind == HeadKind::sequence_classes) return "SEQ_CLS";
  if (spec.head.kind == HeadKind::token_classes) return "TOKEN_CLS";
  if (spec.head.kind == HeadKind::spans) return "QUESTION_ANS";
  if (spec.head.kind != HeadKind::lm) return "";
  return spec.encoder.layers > 0 ? "SEQ_2_SEQ_LM" : "CAUSAL_LM";
}

}  // namespace

LoraConfig with_defaults(LoraConfig config, const TransformerSpec& spec) {
  const ParameterNames names(spec);
  if (config.targets.empty() && config.target_pattern.empty() && !config.all_linear)
    config.targets = usual_targets(spec);
  if (const char* role = role_of_new_head(spec.head.kind); config.modules_to_save.empty() && role)
    config.modules_to_save = {module_of(names.parameter({role}, "weight").name)};
  config.fan_in_fan_out = names.parameter({"decoder.{}.ffn.up"}, "weight").transposed;
  if (config.task_type.empty()) config.task_type = task_of(spec);
  return config;
}

}  // namespace smelt
