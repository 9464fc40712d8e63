#include "frontend/build_transformer.h"

#include <cmath>
#include <map>
#include <set>

#include "frontend/hugging_face.h"
#include "ir/graph/verifier.h"
#include "tests/frontend/built_graph.h"

namespace smelt {
namespace {

using testing::all, testing::from, testing::output, testing::graph_of;
using testing::expect_in, testing::kGolden, testing::message_of, testing::small_spec;

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

TEST(BuildTransformer, EntriesOverPagesChooseTokensWhereTheyAreAskedTo) {
  BuildOptions options{.bounds = {{{"B"}, 5}, {{"T"}, 33}}, .training = false, .caches = true};
  options.cache_pages = 9;
  for (const bool chooses : {false, true}) {
    options.has_sampler = chooses;
    const auto module = build_transformer(small_spec(), options);
    verify_or_throw(*module);
    EXPECT_EQ(module->find_graph("step_pages") == nullptr, chooses);
    EXPECT_EQ(module->find_graph("next_pages") != nullptr, chooses);
    EXPECT_EQ(module->find_graph("begin_pages") != nullptr, chooses);
    EXPECT_EQ(module->find_graph("next"), nullptr);
    EXPECT_EQ(module->find_state("next.past"), nullptr) << "which the host knows";
    const Graph& step = graph_of(*module, chooses ? "next_pages" : "step_pages");
    EXPECT_EQ(str(output(step, "logits")->type), "f32[B,131]");
    EXPECT_EQ(str(step.find_input("pages")->result()->type), "i32[B,3]");
    EXPECT_EQ(step.find_input("slots") != nullptr, chooses);
  }
}

TEST(BuildTransformer, OneEntryOverPagesMixesRows) {
  BuildOptions options{.bounds = {{{"B"}, 5}, {{"T"}, 33}}, .training = false, .caches = true};
  options.cache_pages = 9, options.has_sampler = true, options.step_tokens = 3;
  const auto module = build_transformer(small_spec(), options);
  verify_or_throw(*module);
  for (const char* name : {"read_pages", "decode_pages", "next_pages", "step_pages"})
    EXPECT_EQ(module->find_graph(name), nullptr) << name;
  const Graph& mixed = graph_of(*module, "mixed_pages");
  EXPECT_EQ(str(output(mixed, "logits")->type), "f32[B,131]");
  EXPECT_EQ(str(mixed.find_input("pages")->result()->type), "i32[B,3]");
  EXPECT_EQ(str(mixed.find_input("token_rows")->result()->type), "i32[M]");
  EXPECT_EQ(module->symbols.upper(Dim::symbol("M")), 5) << "one token of each row";
}

TEST(BuildTransformer, EntriesThatChooseComeTwice) {
  BuildOptions options{.bounds = {{{"B"}, 5}, {{"T"}, 33}}, .training = false, .caches = true};
  options.has_sampler = true;
  const auto module = build_transformer(small_spec(), options);
  verify_or_throw(*module);
  EXPECT_EQ(module->find_state("text.tokens")->shape, (Shape{5, 34}));
  EXPECT_EQ(module->find_state("text.source")->shape, (Shape{5, 34})) << "of a decoder alone its prompt";
  EXPECT_EQ(module->find_state("text.kinds")->shape, (Shape{5, 131}));
  for (const char* name : {"next", "next_beams"}) {
    EXPECT_EQ(graph_of(*module, name).find_input("text_places"), nullptr);
    EXPECT_NE(graph_of(*module, name).find_input("held_back"), nullptr);
  }
  for (const char* name : {"next_guided", "next_beams_guided"}) {
    const Graph& graph = graph_of(*module, name);
    EXPECT_EQ(graph.find_input("held_back"), nullptr);
    EXPECT_EQ(str(graph.find_input("text_places")->result()->type),
              graph.find_input("ends") ? "i32[K*N,8]" : "i32[B,8]");
    EXPECT_EQ(str(graph.find_input("end_growth")->result()->type), "f32[34]");
    EXPECT_EQ(str(graph.find_input("biased_before")->result()->type), "i32[64,8]");
    EXPECT_EQ(str(graph.find_input("banned_last")->result()->type), "i32[256]");
  }
}

TEST(BuildTransformer, SentencesOfSourcesBeginAmongOthers) {
  BuildOptions options{.bounds = {{{"B"}, 5}, {{"T"}, 33}}, .training = false, .caches = true};
  options.has_sampler = true;
  EXPECT_EQ(build_transformer(small_spec(), options)->find_graph("begin_beams"), nullptr);
  const TransformerSpec both = small_spec(R"({"family": "bart", "encoder": {"layers": 1, "heads": 4},
      "tokens": {"pad": 1, "decoder_start": 2}})");
  const auto module = build_transformer(both, options);
  verify_or_throw(*module);
  const Graph& graph = graph_of(*module, "begin_beams");
  EXPECT_EQ(str(graph.find_input("slots")->result()->type), "i32[B]");
  EXPECT_EQ(str(graph.find_input("decoder_input_ids")->result()->type), "i32[B,1]");
  EXPECT_EQ(str(graph.find_input("sums")->result()->type), "f32[B]");
  EXPECT_EQ(module->find_state("beams.candidate_places")->shape, (Shape{5}));
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
  EXPECT_EQ(from(graph, Op::linear, "lm_head")->operand(1)->node()->get(attr::name),
            "transformer.wte.weight");
}

TEST(BuildTransformer, QueryKeyAndValueAreThePartsInOrder) {
  const auto module = build_transformer(small_spec(), {});
  const Node* attention = from(graph_of(*module, "logits"), Op::attention, "h.1.attn");
  for (int64_t i = 0; i < 3; ++i) {
    const Node* part = attention->operand(i)->node()->operand(0)->node();
    ASSERT_TRUE(part->is(Op::slice));
    EXPECT_EQ(part->get(attr::axis), 2);
    EXPECT_EQ(part->get(attr::begin), i);
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
    EXPECT_EQ(node->get(attr::p), 0.1) << node->source;
    EXPECT_TRUE(ids.insert(node->get(attr::id)).second) << node->source;
  }
  for (Node* node : all(graph_of(*module, "loss"), Op::attention))
    for (Node* random : all(*node->body, Op::random))
      EXPECT_TRUE(ids.insert(random->get(attr::id)).second) << node->source;
  EXPECT_EQ(ids.size(), 10u);
  EXPECT_EQ(module->random_ids, 10u);
  const auto without = build_transformer(small_spec(), {.dropout = 0.0});
  EXPECT_TRUE(all(graph_of(*without, "loss"), Op::dropout).empty());
  EXPECT_THROW(build_transformer(small_spec(), {.dropout = 1.0}), Error);
}

TEST(BuildTransformer, LayerDropoutIsOneDrawForEachBlockAndStep) {
  const BuildOptions options{.dropout = 0.0, .layer_dropout = 0.25};
  const auto module = build_transformer(small_spec(), options);
  const auto draws = all(graph_of(*module, "loss"), Op::random);
  EXPECT_EQ(draws.size(), 3u);
  for (Node* draw : draws) EXPECT_EQ(draw->result()->rank(), 0) << draw->source;
  for (const char* name : {"evaluate", "logits"})
    EXPECT_TRUE(all(graph_of(*module, name), Op::random).empty()) << name;
  const auto described = build_transformer(small_spec(R"({"dropout": {"block": 0.5}})"), {.dropout = 0.0});
  EXPECT_EQ(all(graph_of(*described, "loss"), Op::random).size(), 3u);
  EXPECT_THROW(build_transformer(small_spec(), {.layer_dropout = 1.0}), Error);
}

TEST(BuildTransformer, LabelSmoothingReplacesThatOfTheCriterion) {
  const auto module = build_transformer(small_spec(), {.label_smoothing = 0.125});
  for (const char* name : {"loss", "evaluate"})
    for (Node* node : all(graph_of(*module, name), Op::cross_entropy))
      EXPECT_EQ(node->get(attr::label_smoothing), 0.125) << name;
}

TEST(BuildTransformer, AttentionScales) {
  const auto scale = [](const char* fields, const char* source) {
    const auto module = build_transformer(small_spec(fields), {});
    return from(graph_of(*module, "logits"), Op::attention, source)->get(attr::scale);
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
  EXPECT_EQ(criterion->get(attr::ignore_index), -7);
  EXPECT_EQ(criterion->get(attr::label_smoothing), 0.2);
  const Node* slice = criterion->operand(1)->node();
  ASSERT_TRUE(slice->is(Op::slice));
  EXPECT_EQ(slice->get(attr::begin), 1);
  const Node* padded = slice->operand(0)->node();
  ASSERT_TRUE(padded->is(Op::concat));
  EXPECT_EQ(padded->operand(0)->node()->get(attr::name), "labels");
  EXPECT_EQ(padded->operand(1)->node()->get(attr::value), -7);
}

TEST(BuildTransformer, FairseqSmoothingIsTheSameRowOfTargets) {
  const auto module =
      build_transformer(small_spec(R"({"criterion": {"label_smoothing": 0.2, "smoothing": "others"}})"), {});
  const double alpha = from(graph_of(*module, "loss"), Op::cross_entropy, "loss")->get(attr::label_smoothing);
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

TEST(BuildTransformer, PackedDocumentsAreToldApartWhereThatIsAskedFor) {
  const auto plain = build_transformer(small_spec(), {});
  for (const char* name : {"segment_ids", "position_ids"})
    EXPECT_EQ(graph_of(*plain, "loss").find_input(name), nullptr);
  const auto module = build_transformer(small_spec(), {.position_ids = true, .segment_ids = true});
  verify_or_throw(*module);
  for (const auto& graph : module->graphs)
    for (const auto& [name, fill] : {std::pair("segment_ids", 0.0), std::pair("position_ids", -1.0)}) {
      const Node* input = graph->find_input(name);
      ASSERT_NE(input, nullptr) << name;
      EXPECT_EQ(str(input->result()->type), "i32[B,T]");
      EXPECT_TRUE(input->get(attr::optional));
      EXPECT_EQ(input->get(attr::fill), fill);
    }
}

TEST(BuildTransformer, ModelsWhoseRowsAreOneDocumentAreRefusedByName) {
  const auto refusal = [](const TransformerSpec& spec, BuildOptions options = {}) {
    options.segment_ids = true;
    return message_of([&] { build_transformer(spec, options); });
  };
  expect_in(refusal(spec_from_json(R"({"family": "vit", "hidden": 16, "encoder": {"layers": 1, "heads": 2},
      "embedding": {"image_size": 6, "patch_size": 3, "channels": 1}, "head": {"classes": 4}})")),
            {"embedding.patch_size: segment_ids: ", "patches"});
  expect_in(
      refusal(spec_from_json(R"({"family": "marian", "vocab_size": 12, "hidden": 16, "max_positions": 24,
      "encoder": {"layers": 1, "heads": 2}, "decoder": {"layers": 1, "heads": 2},
      "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})")),
      {"encoder.layers: segment_ids: ", "writes one text a row"});
  expect_in(refusal(spec_from_json(R"({"family": "bert", "vocab_size": 41, "hidden": 16, "max_positions": 32,
      "encoder": {"layers": 1, "heads": 2}, "head": {"kind": "sequence_classes", "classes": 3}})")),
            {"head.kind: segment_ids: ", "a row has one label for all of its documents"});
  const TransformerSpec dynamic = small_spec(R"({"family": "llama", "decoder": {"head_dim": 8},
      "positions": {"scaling": "dynamic", "scaling_factor": 2}})");
  expect_in(refusal(dynamic, {.bounds = {{{"T"}, 34}}}),
            {"positions.scaling: segment_ids: ", "max_positions"});
  build_transformer(dynamic, {.bounds = {{{"T"}, 33}}, .segment_ids = true});
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

/// The names and types of transformers.
TEST(BuildTransformer, HeadsOfTasksHaveTheirOwnLabelsAndLogits) {
  const Dim rows = Dim::symbol("B"), length = Dim::symbol("T"), choices = Dim::symbol("C");
  const auto built = [](const char* head) {
    return build_transformer(
        spec_from_json(fmt::format(R"({{"vocab_size": 31, "hidden": 12, "max_positions": 9, "head": {},
                                        "encoder": {{"layers": 1, "heads": 2}}}})",
                                   head)),
        {});
  };
  const auto input = [](const Module& module, const char* name) {
    return module.find_graph("loss")->find_input(name)->result()->type;
  };
  const auto tokens = built(R"({"kind": "token_classes", "classes": 3})");
  EXPECT_EQ(input(*tokens, "labels"), (Type{DType::i32, {rows, length}}));
  const auto spans = built(R"({"kind": "spans"})");
  EXPECT_EQ(input(*spans, "start_positions"), (Type{DType::i32, {rows}}));
  EXPECT_EQ(input(*spans, "end_positions"), (Type{DType::i32, {rows}}));
  const auto choice = built(R"({"kind": "choices", "pooler": true})");
  EXPECT_EQ(input(*choice, "input_ids"), (Type{DType::i32, {rows, choices, length}}));
  EXPECT_EQ(input(*choice, "labels"), (Type{DType::i32, {rows}}));
  const auto both = built(R"({"kind": "pretraining", "bias": true, "pooler": true})");
  EXPECT_EQ(input(*both, "labels"), (Type{DType::i32, {rows, length}}));
  EXPECT_EQ(input(*both, "next_sentence_label"), (Type{DType::i32, {rows}}));
  expect_in(message_of([&] { built(R"({"kind": "pretraining"})"); }), {"head.pooler: pretraining reads"});
  expect_in(message_of([&] { built(R"({"kind": "token_classes"})"); }), {"head.classes: 0 or missing"});
}

}  // namespace
}  // namespace smelt
