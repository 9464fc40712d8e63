#include "frontend/build_transformer.h"

#include <cmath>
#include <map>
#include <set>

#include "frontend/hugging_face.h"
#include "ir/verifier.h"
#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::kGolden, testing::message_of, testing::small_spec;

std::vector<Node*> all(const Graph& graph, Op op) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (node->is(op)) nodes.push_back(node.get());
  return nodes;
}

Node* from(const Graph& graph, Op op, std::string_view source) {
  for (Node* node : all(graph, op))
    if (node->source == source) return node;
  ADD_FAILURE() << "no " << name(op) << " from " << source;
  return nullptr;
}

Value* output(const Graph& graph, std::string_view name) {
  for (const Graph::Output& output : graph.outputs)
    if (output.name == name) return output.value;
  ADD_FAILURE() << "no output " << name;
  return nullptr;
}

const Graph& graph_of(const Module& module, std::string_view name) { return *module.find_graph(name); }

TEST(BuildTransformer, GoldenModelHasItsGraphs) {
  const auto module = build_transformer(read_model_directory(kGolden).spec, {.hidden_states = true});
  verify_or_throw(*module);
  EXPECT_EQ(module->graphs.size(), 3u);
  for (const char* name : {"loss", "evaluate"}) {
    const Graph& graph = graph_of(*module, name);
    EXPECT_EQ(str(output(graph, "loss_sum")->type), "f32[]");
    EXPECT_EQ(str(output(graph, "token_count")->type), "f32[]");
    EXPECT_EQ(str(graph.find_input("labels")->result()->type), "i32[B,T]");
  }
  const Graph& logits = graph_of(*module, "logits");
  EXPECT_EQ(str(output(logits, "logits")->type), "f32[B,T,131]");
  EXPECT_EQ(logits.find_input("labels"), nullptr);
  for (const char* name : {"hidden.0", "hidden.1", "hidden.2", "hidden.3"})
    EXPECT_EQ(str(output(logits, name)->type), "f32[B,T,48]");
  EXPECT_EQ(output(logits, "hidden.3")->node()->source, "ln_f");
  EXPECT_EQ(module->symbols.upper(Dim::symbol("B")), 8);
  EXPECT_EQ(module->symbols.upper(Dim::symbol("T")), 64);
}

TEST(BuildTransformer, OpsCarryTheNamesOfTheModel) {
  const auto module = build_transformer(small_spec(), {});
  const Graph& graph = graph_of(*module, "loss");
  EXPECT_EQ(all(graph, Op::layer_norm).size(), 7u);
  EXPECT_EQ(all(graph, Op::linear).size(), 13u);
  EXPECT_EQ(all(graph, Op::attention).size(), 3u);
  EXPECT_EQ(all(graph, Op::dropout).size(), 7u);
  EXPECT_EQ(all(graph, Op::gelu_tanh).size(), 3u);
  EXPECT_EQ(str(from(graph, Op::linear, "h.1.attn.c_attn")->result()->type), "f32[B,T,108]");
  EXPECT_EQ(str(from(graph, Op::attention, "h.2.attn")->result()->type), "f32[B,T,4,9]");
  EXPECT_EQ(str(from(graph, Op::linear, "h.0.mlp.c_fc")->result()->type), "f32[B,T,31]");
  EXPECT_EQ(str(from(graph, Op::embedding, "wte")->result()->type), "f32[B,T,36]");
  EXPECT_EQ(from(graph, Op::linear, "lm_head")->operand(1)->node()->string_attr("name"),
            "transformer.wte.weight");
}

TEST(BuildTransformer, QueryKeyAndValueAreThePartsInOrder) {
  const auto module = build_transformer(small_spec(), {});
  const Node* attention = from(graph_of(*module, "logits"), Op::attention, "h.1.attn");
  for (int64_t i = 0; i < 3; ++i) {
    const Node* part = attention->operand(i)->node()->operand(0)->node();
    ASSERT_TRUE(part->is(Op::slice));
    EXPECT_EQ(part->int_attr("axis"), 2);
    EXPECT_EQ(part->int_attr("begin"), i);
    EXPECT_EQ(str(part->operand(0)->type), "f32[B,T,3,4,9]");
  }
}

TEST(BuildTransformer, ParametersAreThoseOfTheCheckpoint) {
  const auto module = build_transformer(small_spec(), {});
  std::map<std::string, std::string> types;
  for (const auto& parameter : module->parameters) types[parameter.name] = str(parameter.type);
  EXPECT_EQ(types.size(), 2u + 3 * 12 + 2);
  EXPECT_EQ(types["transformer.wte.weight"], "f32[131,36]");
  EXPECT_EQ(types["transformer.wpe.weight"], "f32[33,36]");
  EXPECT_EQ(types["transformer.h.2.attn.c_attn.weight"], "f32[108,36]");
  EXPECT_EQ(types["transformer.h.2.mlp.c_fc.weight"], "f32[31,36]");
  EXPECT_EQ(types["transformer.h.2.mlp.c_proj.weight"], "f32[36,31]");
  EXPECT_EQ(types["transformer.h.2.mlp.c_fc.bias"], "f32[31]");
  for (const auto& parameter : module->parameters) {
    EXPECT_EQ(parameter.decay, parameter.type.rank() == 2) << parameter.name;
    const bool conv = parameter.name.find("c_") != std::string::npos && parameter.type.rank() == 2;
    EXPECT_EQ(parameter.transposed, conv) << parameter.name;
    EXPECT_EQ(parameter.checkpoint_names.size(), 2u) << parameter.name;
  }
}

TEST(BuildTransformer, FirstValues) {
  const auto module = build_transformer(small_spec(R"({"init": {"deviation": 0.5}})"), {});
  const auto init = [&](const char* name) { return module->find_parameter(name)->init; };
  EXPECT_EQ(init("transformer.h.0.attn.c_attn.weight"), (Initializer{Initializer::Kind::normal, 0.5, 0}));
  EXPECT_NEAR(init("transformer.h.0.attn.c_proj.weight").a, 0.5 / std::sqrt(6.0), 1e-15);
  EXPECT_NEAR(init("transformer.h.2.mlp.c_proj.weight").a, 0.5 / std::sqrt(6.0), 1e-15);
  EXPECT_EQ(init("transformer.h.0.ln_1.weight"), (Initializer{Initializer::Kind::value, 1, 0}));
  EXPECT_EQ(init("transformer.h.0.mlp.c_fc.bias"), (Initializer{Initializer::Kind::value, 0, 0}));
}

TEST(BuildTransformer, DropoutOnlyInTraining) {
  const auto module = build_transformer(small_spec(), {});
  for (const char* name : {"evaluate", "logits"}) {
    EXPECT_TRUE(all(graph_of(*module, name), Op::dropout).empty());
    for (Node* node : all(graph_of(*module, name), Op::attention))
      EXPECT_TRUE(all(*node->body, Op::random).empty());
  }
  std::set<int64_t> ids;
  for (Node* node : all(graph_of(*module, "loss"), Op::dropout)) {
    EXPECT_EQ(node->float_attr("p"), 0.1) << node->source;
    EXPECT_TRUE(ids.insert(node->int_attr("id")).second) << node->source;
  }
  for (Node* node : all(graph_of(*module, "loss"), Op::attention))
    for (Node* random : all(*node->body, Op::random))
      EXPECT_TRUE(ids.insert(random->int_attr("id")).second) << node->source;
  EXPECT_EQ(ids.size(), 10u);
  EXPECT_EQ(module->random_ids, 10u);
  const auto without = build_transformer(small_spec(), {.dropout = 0.0});
  EXPECT_TRUE(all(graph_of(*without, "loss"), Op::dropout).empty());
  EXPECT_THROW(build_transformer(small_spec(), {.dropout = 1.0}), Error);
}

TEST(BuildTransformer, AttentionScales) {
  const auto scale = [](const char* fields, const char* source) {
    const auto module = build_transformer(small_spec(fields), {});
    return from(graph_of(*module, "logits"), Op::attention, source)->float_attr("scale");
  };
  EXPECT_DOUBLE_EQ(scale("{}", "h.2.attn"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(scale(R"({"attention": {"scaled": false}})", "h.2.attn"), 1);
  EXPECT_DOUBLE_EQ(scale(R"({"attention": {"scaled_by_layer": true}})", "h.2.attn"), 1.0 / 9);
  EXPECT_DOUBLE_EQ(scale(R"({"attention": {"scaled_by_layer": true}})", "h.0.attn"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(scale(R"({"attention": {"scale_dim": 16}})", "h.0.attn"), 1.0 / 4);
}

TEST(BuildTransformer, TargetsAreShiftedAndIgnoredAtTheEnd) {
  const auto module =
      build_transformer(small_spec(R"({"criterion": {"ignore_index": -7, "label_smoothing": 0.2}})"), {});
  const Graph& graph = graph_of(*module, "loss");
  const Node* criterion = from(graph, Op::cross_entropy, "loss");
  EXPECT_EQ(criterion->int_attr("ignore_index"), -7);
  EXPECT_EQ(criterion->float_attr("label_smoothing"), 0.2);
  const Node* slice = criterion->operand(1)->node();
  ASSERT_TRUE(slice->is(Op::slice));
  EXPECT_EQ(slice->int_attr("begin"), 1);
  const Node* padded = slice->operand(0)->node();
  ASSERT_TRUE(padded->is(Op::concat));
  EXPECT_EQ(padded->operand(0)->node()->string_attr("name"), "labels");
  EXPECT_EQ(padded->operand(1)->node()->float_attr("value"), -7);
}

TEST(BuildTransformer, FairseqSmoothingIsTheSameRowOfTargets) {
  const auto module =
      build_transformer(small_spec(R"({"criterion": {"label_smoothing": 0.2, "smoothing": "others"}})"), {});
  const double alpha =
      from(graph_of(*module, "loss"), Op::cross_entropy, "loss")->float_attr("label_smoothing");
  EXPECT_NEAR(alpha / 131, 0.2 / 130, 1e-15);            // every other class
  EXPECT_NEAR(1 - alpha + alpha / 131, 1 - 0.2, 1e-15);  // the target
}

TEST(BuildTransformer, PartsOfOtherFamilies) {
  const auto module = build_transformer(
      small_spec(R"({"family": "transformer", "attention": {"fused_qkv": false, "qkv_bias": false},
                     "decoder": {"kv_heads": 2, "head_dim": 5}, "norm": {"kind": "rms"},
                     "ffn": {"activation": "silu", "gated": true, "bias": false}, "head": {"tied": false},
                     "positions": {"kind": "none"}, "embedding": {"scaled": true}})"),
      {});
  verify_or_throw(*module);
  const Graph& graph = graph_of(*module, "logits");
  EXPECT_EQ(all(graph, Op::rms_norm).size(), 7u);
  EXPECT_EQ(str(from(graph, Op::linear, "decoder.0.attention.key")->result()->type), "f32[B,T,10]");
  EXPECT_EQ(from(graph, Op::linear, "decoder.0.attention.key")->operands().size(), 2u);
  EXPECT_EQ(str(from(graph, Op::attention, "decoder.0.attention")->result()->type), "f32[B,T,4,5]");
  EXPECT_EQ(all(graph, Op::linear).size(), 3u * 7 + 1);
  EXPECT_EQ(module->find_parameter("head.weight")->type, (Type{DType::f32, {131, 36}}));
  EXPECT_EQ(module->find_parameter("decoder.positions.weight"), nullptr);
}

TEST(BuildTransformer, PostNorm) {
  const auto module = build_transformer(small_spec(R"({"norm": {"place": "post", "final": false}})"), {});
  verify_or_throw(*module);
  const Graph& graph = graph_of(*module, "logits");
  EXPECT_EQ(all(graph, Op::layer_norm).size(), 6u);
  EXPECT_TRUE(from(graph, Op::layer_norm, "h.0.ln_1")->operand(0)->node()->is(ScalarOp::add));
  EXPECT_EQ(from(graph, Op::linear, "lm_head")->operand(0)->node()->source, "h.2.ln_2");
}

TEST(BuildTransformer, EveryActivationBuilds) {
  for (const char* name : {"relu", "gelu_tanh", "gelu_erf", "silu", "quick_gelu", "tanh"}) {
    TransformerSpec spec = small_spec();
    std::vector<SpecProblem> problems;
    read_spec({{"ffn", {{"activation", name}}}}, spec, problems);
    ASSERT_TRUE(problems.empty());
    verify_or_throw(*build_transformer(spec, {}));
  }
}

TEST(BuildTransformer, BoundsAreTheCallers) {
  const auto module =
      build_transformer(small_spec(), {.bounds = {{{"B"}, 3}, {{"T"}, 31}, {{"B", "T"}, 77}}});
  EXPECT_EQ(module->symbols.upper(Dim::symbol("T")), 31);
  EXPECT_EQ(module->symbols.upper(Dim::symbol("B") * Dim::symbol("T")), 77);
  expect_in(message_of([] { build_transformer(small_spec(), {.bounds = {{{"T"}, 34}}}); }),
            {"T <= 34", "33 positions"});
  expect_in(message_of([] { build_transformer(small_spec(), {.bounds = {{{"S"}, 4}}}); }), {"no symbol S"});
}

TEST(BuildTransformer, WhatCannotBeBuiltIsNamedAtOnce) {
  expect_in(message_of([] {
              build_transformer(
                  small_spec(R"({"encoder": {"layers": 1, "heads": 2}, "positions": {"kind": "rope"},
                                               "decoder": {"head_dim": 10}, "head": {"kind": "mlm"}})"),
                  {});
            }),
            {"3 problems", "head.kind", "tokens.decoder_start", "tokens.pad"});
  expect_in(message_of([] {
              build_transformer(
                  small_spec(R"({"embedding": {"image_size": 8, "patch_size": 4, "channels": 1}})"), {});
            }),
            {"embedding.patch_size", "head.kind"});
}

/// How many such operations the body of a block's attention has.
size_t in_body(const Module& module, ScalarOp op, const char* source) {
  const Node* attention = from(graph_of(module, "logits"), Op::attention, source);
  return llvm::count_if(attention->body->nodes(), [&](const auto& node) { return node->is(op); });
}

TEST(BuildTransformer, BlocksHaveTheWindowThatTheyAreTold) {
  const TransformerSpec spec =
      small_spec(R"({"attention": {"window": 5, "layers": ["full_attention", "sliding_attention"]}})");
  const auto module = build_transformer(spec, {});
  verify_or_throw(*module);
  EXPECT_EQ(in_body(*module, ScalarOp::lt, "h.0.attn"), 0u);
  EXPECT_EQ(in_body(*module, ScalarOp::lt, "h.1.attn"), 1u);
  EXPECT_EQ(in_body(*module, ScalarOp::lt, "h.2.attn"), 0u);
  const auto shorter = build_transformer(spec, {.bounds = {{{"T"}, 5}}});
  EXPECT_EQ(in_body(*shorter, ScalarOp::lt, "h.1.attn"), 0u);  // which no batch can leave
}

TEST(BuildTransformer, ScoresAreCapped) {
  const auto module = build_transformer(small_spec(R"({"attention": {"soft_cap": 5}})"), {});
  verify_or_throw(*module);
  for (const char* source : {"h.0.attn", "h.2.attn"}) EXPECT_EQ(in_body(*module, ScalarOp::tanh, source), 1u);
  EXPECT_EQ(in_body(*build_transformer(small_spec(), {}), ScalarOp::tanh, "h.0.attn"), 0u);
}

TEST(BuildTransformer, AlibiFallsWithTheDistanceOfWhatIsCounted) {
  const char* fields = R"({"positions": {"kind": "alibi", "counted_by_mask": true}})";
  for (const bool masked : {false, true}) {
    const auto module = build_transformer(small_spec(fields), {.attention_mask = masked});
    verify_or_throw(*module);
    const Graph& graph = graph_of(*module, "logits");
    const Node* attention = from(graph, Op::attention, "h.1.attn");
    ASSERT_EQ(attention->operands().size(), masked ? 6u : 4u);  // positions and the mask
    EXPECT_EQ(str(attention->operand(masked ? 4 : 3)->type), "f32[4]");
    EXPECT_EQ(module->find_parameter("transformer.wpe.weight"), nullptr);
  }
}

TEST(BuildTransformer, FieldsThatGoTogetherAreRefusedApart) {
  expect_in(message_of([] {
              build_transformer(small_spec(R"({"attention": {"fused_qkv": false, "qkv_by_head": true},
                                               "embedding": {"width": 7}, "encoder": {"layers": 1, "heads": 2},
                                               "tokens": {"pad": 0, "decoder_start": 1}})"),
                                {});
            }),
            {"2 problems", "attention.qkv_by_head: is an order", "embedding.width: needs a decoder alone"});
  expect_in(
      message_of([] {
        build_transformer(small_spec(R"({"attention": {"window": 3}, "encoder": {"layers": 1, "heads": 2},
                                               "positions": {"kind": "alibi"},
                                               "tokens": {"pad": 0, "decoder_start": 1}})"),
                          {});
      }),
      {"2 problems", "attention.window: needs a decoder alone", "positions.kind: alibi needs a decoder"});
  expect_in(
      message_of([] {
        build_transformer(
            small_spec(R"({"positions": {"kind": "sinusoidal", "offset": 1, "counted_by_mask": true}})"), {});
      }),
      {"1 problem\n", "positions.counted_by_mask: is for learned"});
}

TEST(BuildTransformer, ParallelResidualReadsTheBlocksInput) {
  const auto module = build_transformer(small_spec(R"({"parallel_residual": true})"), {});
  const Graph& graph = graph_of(*module, "logits");
  const Value* input = from(graph, Op::layer_norm, "h.1.ln_1")->operand(0);
  EXPECT_EQ(from(graph, Op::layer_norm, "h.1.ln_2")->operand(0), input);
  const auto serial = build_transformer(small_spec(), {});
  EXPECT_NE(from(graph_of(*serial, "logits"), Op::layer_norm, "h.1.ln_2")->operand(0),
            from(graph_of(*serial, "logits"), Op::layer_norm, "h.1.ln_1")->operand(0));
}

TEST(BuildTransformer, SandwichNormsWhatAPartAdds) {
  const auto module = build_transformer(
      small_spec(
          R"({"family": "transformer", "attention": {"fused_qkv": false}, "norm": {"place": "sandwich"}})"),
      {});
  verify_or_throw(*module);
  const Graph& graph = graph_of(*module, "logits");
  EXPECT_EQ(all(graph, Op::layer_norm).size(), 13u);
  const Node* residual = from(graph, Op::pointwise, "decoder.1.ffn.residual");
  EXPECT_EQ(residual->operand(1)->node()->source, "decoder.1.post_norm_2");
  EXPECT_EQ(residual->operand(1)->node()->operand(0)->node()->source, "decoder.1.ffn.down");
}

TEST(BuildTransformer, ZeroCenteredNormsScaleByOneMore) {
  const auto module =
      build_transformer(small_spec(R"({"norm": {"kind": "rms", "zero_centered": true}})"), {});
  const Value* scale = from(graph_of(*module, "logits"), Op::rms_norm, "h.0.ln_1")->operand(1);
  ASSERT_TRUE(scale->node()->is(ScalarOp::add));
  EXPECT_EQ(scale->node()->operand(1)->node()->float_attr("value"), 1);
  EXPECT_EQ(module->find_parameter("transformer.h.0.ln_1.weight")->init,
            (Initializer{Initializer::Kind::value, 0, 0}));
}

TEST(BuildTransformer, QueriesAndKeysAreNormalisedHeadByHead) {
  const auto module =
      build_transformer(small_spec(R"({"family": "transformer", "decoder": {"kv_heads": 2, "head_dim": 10},
                     "attention": {"fused_qkv": false, "qk_norm": true}, "positions": {"kind": "rope"}})"),
                        {});
  verify_or_throw(*module);
  const Graph& graph = graph_of(*module, "logits");
  for (const char* norm : {"decoder.2.attention.query_norm", "decoder.2.attention.key_norm"}) {
    const Value* normal = from(graph, Op::layer_norm, norm)->result();
    EXPECT_EQ(str(normal->type), std::string(norm).find("query") < 30 ? "f32[B,T,4,10]" : "f32[B,T,2,10]");
    EXPECT_EQ(str(module->find_parameter(std::string(norm) + ".weight")->type), "f32[10]");
  }
}

TEST(BuildTransformer, OnlyAPartOfAHeadIsTurned) {
  const auto module =
      build_transformer(small_spec(R"({"positions": {"kind": "rope", "rotary_fraction": 0.5}})"), {});
  verify_or_throw(*module);
  const Node* turned = from(graph_of(*module, "logits"), Op::attention, "h.0.attn")->operand(0)->node();
  ASSERT_TRUE(turned->is(Op::concat));
  ASSERT_EQ(turned->operands().size(), 3u);
  EXPECT_EQ(str(turned->operand(0)->type), "f32[B,T,4,2]");
  const Node* rest = turned->operand(2)->node();
  ASSERT_TRUE(rest->is(Op::slice));
  EXPECT_EQ(rest->int_attr("begin"), 4);
  EXPECT_EQ(str(turned->operand(2)->type), "f32[B,T,4,5]");
}

TEST(BuildTransformer, QueryKeyAndValueOfAHeadTogether) {
  const auto module = build_transformer(small_spec(R"({"attention": {"qkv_by_head": true}})"), {});
  const Node* attention = from(graph_of(*module, "logits"), Op::attention, "h.1.attn");
  for (int64_t i = 0; i < 3; ++i) {
    const Node* part = attention->operand(i)->node()->operand(0)->node();
    EXPECT_EQ(part->int_attr("axis"), 3);
    EXPECT_EQ(part->int_attr("begin"), i);
    EXPECT_EQ(str(part->operand(0)->type), "f32[B,T,4,3,9]");
  }
}

TEST(BuildTransformer, EmbeddingsOfAnotherWidthAreProjected) {
  const auto module = build_transformer(small_spec(R"({"family": "opt", "embedding": {"width": 7}})"),
                                        {.hidden_states = true});
  verify_or_throw(*module);
  EXPECT_EQ(str(module->find_parameter("model.decoder.embed_tokens.weight")->type), "f32[131,7]");
  EXPECT_EQ(str(module->find_parameter("model.decoder.project_in.weight")->type), "f32[36,7]");
  EXPECT_EQ(str(module->find_parameter("model.decoder.project_out.weight")->type), "f32[7,36]");
  const Graph& graph = graph_of(*module, "logits");
  EXPECT_EQ(str(output(graph, "hidden.0")->type), "f32[B,T,36]");
  EXPECT_EQ(str(output(graph, "hidden.3")->type), "f32[B,T,7]");
}

TEST(BuildTransformer, LogitsAreCapped) {
  const auto module = build_transformer(small_spec(R"({"head": {"soft_cap": 30}})"), {});
  const Node* capped = output(graph_of(*module, "logits"), "logits")->node();
  ASSERT_TRUE(capped->is(ScalarOp::mul));
  EXPECT_EQ(capped->operand(1)->node()->float_attr("value"), 30);
  EXPECT_TRUE(capped->operand(0)->node()->is(ScalarOp::tanh));
}

TEST(BuildTransformer, AModelWithoutAHeadHasNothingToTrain) {
  const TransformerSpec spec = small_spec(R"({"head": {"kind": "none"}})");
  expect_in(message_of([&] { build_transformer(spec, {}); }), {"head.kind", "no loss"});
  const auto module = build_transformer(spec, {.training = false});
  ASSERT_EQ(module->graphs.size(), 1u);
  EXPECT_EQ(module->graphs[0]->outputs[0].name, "last_hidden_state");
}

TEST(BuildTransformer, DescriptionServesAHostWithoutTheFrontend) {
  const auto module = build_transformer(read_model_directory(kGolden).spec, {});
  const Json json = Json::parse(module->description);
  EXPECT_EQ(json.at("family"), "gpt2");
  EXPECT_EQ(json.at("vocab_size"), 131);
  EXPECT_EQ(json.at("max_positions"), 64);
  EXPECT_EQ(json.at("eos_token_id"), Json::array({2}));
  EXPECT_EQ(json.at("pad_token_id"), 0);
  EXPECT_EQ(json.at("tokenizer"), "none");
  EXPECT_EQ(json.at("ignore_index"), -100);
  EXPECT_EQ(json.at("config").at("n_embd"), 48);
}

}  // namespace
}  // namespace smelt
