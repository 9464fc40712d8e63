#include "frontend/families/families.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "llvm/ADT/StringRef.h"

namespace smelt {

// One function a family, each in its own file.
const Family& gpt2_family();
const Family& llama_family();
const Family& mistral_family();
const Family& qwen2_family();
const Family& qwen3_family();
const Family& gemma_family();
const Family& gemma2_family();
const Family& gemma3_family();
const Family& phi_family();
const Family& phi3_family();
const Family& olmo2_family();
const Family& granite_family();
const Family& cohere_family();
const Family& glm_family();
const Family& glm4_family();
const Family& stablelm_family();
const Family& opt_family();
const Family& gpt_neox_family();
const Family& bloom_family();
const Family& bert_family();
const Family& roberta_family();
const Family& xlm_roberta_family();
const Family& camembert_family();
const Family& distilbert_family();
const Family& electra_family();
const Family& albert_family();
const Family& vit_family();
const Family& deit_family();
const Family& bart_family();
const Family& mbart_family();
const Family& m2m100_family();
const Family& pegasus_family();
const Family& marian_family();
const Family& t5_family();
const Family& mt5_family();

namespace {

using FamilyFunction = const Family& (*)();
constexpr FamilyFunction kFamilies[] = {
    gpt2_family,    llama_family,   mistral_family, qwen2_family,       qwen3_family,     gemma_family,
    gemma2_family,  gemma3_family,  phi_family,     phi3_family,        olmo2_family,     granite_family,
    cohere_family,  glm_family,     glm4_family,    stablelm_family,    opt_family,       gpt_neox_family,
    bloom_family,   bert_family,    roberta_family, xlm_roberta_family, camembert_family, distilbert_family,
    electra_family, albert_family,  vit_family,     deit_family,        bart_family,      mbart_family,
    m2m100_family,  pegasus_family, marian_family,  t5_family,          mt5_family};

template <typename Row>
std::vector<Row> join(std::initializer_list<std::vector<Row>> parts) {
  std::vector<Row> all;
  for (const std::vector<Row>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<Spelling> kActivations = {
    {R"("gelu_new")", R"("gelu_tanh")"},
    {R"("gelu_pytorch_tanh")", R"("gelu_tanh")"},
    {R"("gelu_fast")", R"("gelu_tanh")"},
    {R"("gelu")", R"("gelu_erf")"},
    {R"("gelu_python")", R"("gelu_erf")"},
    {R"("relu")", R"("relu")"},
    {R"("silu")", R"("silu")"},
    {R"("swish")", R"("silu")"},
    {R"("quick_gelu")", R"("quick_gelu")"},
    {R"("tanh")", R"("tanh")"},
};

const std::vector<Spelling> kProblems = {
    {R"("single_label_classification")", R"("one_class")"},
    {R"("regression")", R"("regression")"},
    {R"("multi_label_classification")", R"("several_classes")"},
};

constexpr std::string_view kQuantised =
    "says that the weights are quantised, and such weights are not read; take the model that they were made "
    "from, or write them out in Python: "
    "AutoModelForCausalLM.from_pretrained(DIR).dequantize().save_pretrained(NEW_DIR)";

const std::vector<FixedRow> kMathsFields = {
    // attention
    {"sliding_window", "null"},
    {"use_sliding_window", "false"},
    {"attention_window", "null"},
    {"attention_chunk_size", "null"},
    {"attention_types", "null"},
    {"attention_layers", "null"},
    {"layer_types", "null"},
    {"alibi", "false"},
    {"use_alibi", "false"},
    {"position_embedding_type", "\"absolute\""},
    {"multi_query", "false"},
    {"num_key_value_heads", "null"},
    {"head_dim", "null"},
    {"use_qk_norm", "false"},
    {"qk_layernorm", "false"},
    {"clip_qkv", "null"},
    {"use_bidirectional_attention", "null"},
    {"attention_multiplier", "1"},
    {"attn_logit_softcapping", "null"},
    {"pruned_heads", "{}"},
    // positions
    {"rope_theta", "null"},
    {"rope_scaling", "null"},
    {"rope_parameters", "null"},
    {"rotary_dim", "null"},
    {"rotary_pct", "null"},
    {"partial_rotary_factor", "null"},
    {"relative_attention", "false"},
    {"no_rope_layers", "null"},
    // blocks
    {"parallel_attn", "false"},
    {"use_parallel_residual", "false"},
    {"num_experts", "null"},
    {"n_routed_experts", "null"},
    {"num_local_experts", "null"},
    {"num_experts_per_tok", "null"},
    {"residual_multiplier", "1"},
    {"embedding_multiplier", "1"},
    {"scale_embedding", "false"},
    {"normalize_embedding", "false"},
    {.config = "word_embed_proj_dim", .value = "null", .same_as = "hidden"},
    {"is_gated_act", "false"},
    {"layerdrop", "0"},
    {"encoder_layerdrop", "0"},
    {"decoder_layerdrop", "0"},
    // the model as a whole
    {"is_encoder_decoder", "false"},
    {"add_cross_attention", "false"},
    {"cross_attention_hidden_size", "null"},
    {"logit_scale", "1"},
    {"logits_scaling", "1"},
    {"final_logit_softcapping", "null"},
    {"pretraining_tp", "1"},
    {.config = "compression_config", .value = "null", .reason = kQuantised, .shown = "quant_method"},
    {"auto_map", "null"},
};

std::vector<FieldRow> joined(std::initializer_list<std::vector<FieldRow>> parts) { return join(parts); }
std::vector<NameRow> joined(std::initializer_list<std::vector<NameRow>> parts) { return join(parts); }
std::vector<FixedRow> joined(std::initializer_list<std::vector<FixedRow>> parts) { return join(parts); }

std::vector<FieldRow> fields_of(const Family& family, const Architecture& architecture) {
  const std::vector<FieldRow>& own = architecture.fields;
  std::vector<FieldRow> rows = family.fields;
  std::erase_if(rows, [&](const FieldRow& row) {
    return std::ranges::any_of(own, [&](const FieldRow& other) { return other.spec == row.spec; });
  });
  std::ranges::copy_if(own, std::back_inserter(rows),
                       [](const FieldRow& row) { return !row.config.empty(); });
  return rows;
}

std::vector<NameRow> renamed(std::vector<NameRow> names, const std::vector<NameRow>& others) {
  std::erase_if(names, [&](const NameRow& row) {
    return std::ranges::any_of(others, [&](const NameRow& other) { return other.role == row.role; });
  });
  return joined({names, others});
}

const Family* find_family(std::string_view model_type) {
  for (FamilyFunction family : kFamilies)
    if (family().model_type == model_type) return &family();
  return nullptr;
}

std::string known_families() {
  std::vector<std::string_view> names;
  for (FamilyFunction family : kFamilies) names.push_back(family().model_type);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string with_number(std::string_view pattern, int64_t number) {
  const size_t place = pattern.find("{}");
  if (place == std::string_view::npos) return std::string(pattern);
  return fmt::format("{}{}{}", pattern.substr(0, place), number, pattern.substr(place + 2));
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  const size_t place = pattern.find("{}");
  if (place == std::string_view::npos) return name == pattern;
  llvm::StringRef rest(name);
  if (!rest.consume_front(llvm::StringRef(pattern.substr(0, place)))) return false;
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0) return false;
  return matches_pattern(std::string_view(rest.substr(digits)), pattern.substr(place + 2));
}

}  // namespace smelt
