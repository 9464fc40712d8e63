// BERT and its relatives: post-norm encoders with learned positions.
#include "frontend/families/families.h"

namespace smelt {

namespace {

const std::vector<FieldRow> kBertFields = {
    {.config = "vocab_size", .spec = "vocab_size", .required = true},
    {.config = "hidden_size", .spec = "hidden", .required = true},
    {.config = "num_hidden_layers", .spec = "encoder.layers", .required = true},
    {.config = "num_attention_heads", .spec = "encoder.heads", .required = true},
    {.config = "intermediate_size", .spec = "encoder.ffn", .required = true},
    {.config = "hidden_act", .spec = "ffn.activation", .spellings = &kActivations},
    {.config = "layer_norm_eps", .spec = "norm.eps"},
    {.config = "type_vocab_size", .spec = "embedding.token_types"},
    {.config = "hidden_dropout_prob", .spec = "dropout.embedding"},
    {.config = "hidden_dropout_prob", .spec = "dropout.residual"},
    {.config = "attention_probs_dropout_prob", .spec = "dropout.attention"},
    {.config = "classifier_dropout", .spec = "dropout.classifier", .also_called = {"hidden_dropout_prob"}},
    {.config = "initializer_range", .spec = "init.deviation"},
    {.config = "tie_word_embeddings", .spec = "head.tied"},
    {.config = "id2label", .spec = "head.classes", .counted = true},
    {.config = "problem_type", .spec = "head.problem", .spellings = &kProblems},
    {.config = "bos_token_id", .spec = "tokens.bos"},
    {.config = "eos_token_id", .spec = "tokens.eos"},
    {.config = "pad_token_id", .spec = "tokens.pad"},
};

const std::vector<NameRow> kBertNames = {
    {"embedding.tokens", "embeddings.word_embeddings"},
    {"embedding.token_types", "embeddings.token_type_embeddings"},
    {"embedding.dropout", "embeddings.dropout"},
    {"encoder.positions", "embeddings.position_embeddings"},
    {"encoder.embedding_norm", "embeddings.LayerNorm"},
    {"encoder.{}", "encoder.layer.{}"},
    {"encoder.{}.attention", "encoder.layer.{}.attention"},
    {"encoder.{}.attention.query", "encoder.layer.{}.attention.self.query"},
    {"encoder.{}.attention.key", "encoder.layer.{}.attention.self.key"},
    {"encoder.{}.attention.value", "encoder.layer.{}.attention.self.value"},
    {"encoder.{}.attention.out", "encoder.layer.{}.attention.output.dense"},
    {"encoder.{}.norm_1", "encoder.layer.{}.attention.output.LayerNorm"},
    {"encoder.{}.ffn", "encoder.layer.{}.intermediate"},
    {"encoder.{}.ffn.up", "encoder.layer.{}.intermediate.dense"},
    {"encoder.{}.ffn.down", "encoder.layer.{}.output.dense"},
    {"encoder.{}.norm_2", "encoder.layer.{}.output.LayerNorm"},
    {"pooler", "pooler.dense"},
};

constexpr std::string_view kBertNoHead = R"({"head": {"kind": "none", "pooler": true}})";
constexpr std::string_view kBertMaskedLm = R"({"head": {"kind": "mlm", "bias": true}})";
constexpr std::string_view kBertClasses =
    R"({"head": {"kind": "sequence_classes", "pooler": true, "classes": 2}})";
constexpr std::string_view kTokenClasses = R"({"head": {"kind": "token_classes", "classes": 2}})";
constexpr std::string_view kSpans = R"({"head": {"kind": "spans"}, "dropout": {"classifier": 0}})";
const std::vector<FieldRow> kNoDropout = {{.config = "", .spec = "dropout.classifier"}};
constexpr std::string_view kBertChoices = R"({"head": {"kind": "choices", "pooler": true}})";
constexpr std::string_view kRobertaClasses =
    R"({"head": {"kind": "sequence_classes", "dense": true, "dense_dropout": true, "classes": 2}})";

// Heads that have the same names in all of these families.
const std::vector<NameRow> kTaskNames = {{"token_classifier", "classifier", NameRow::bare},
                                         {"spans", "qa_outputs", NameRow::bare},
                                         {"choices", "classifier", NameRow::bare}};

Family make_bert() {
  return {
      .model_type = "bert",
      .architectures = {{"BertForMaskedLM", kBertMaskedLm},
                        {"BertForSequenceClassification", kBertClasses},
                        {"BertForTokenClassification", kTokenClasses},
                        {"BertForQuestionAnswering", kSpans, kNoDropout},
                        {"BertForMultipleChoice", kBertChoices},
                        {"BertForPreTraining",
                         R"({"head": {"kind": "pretraining", "bias": true, "pooler": true}})"},
                        {"BertModel", kBertNoHead}},
      .defaults = R"({"norm": {"place": "post", "eps": 1e-12, "final": false, "embedding": true},
                      "ffn": {"activation": "gelu_erf"},
                      "embedding": {"token_types": 2, "frozen_padding": true},
                      "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1, "classifier": 0.1},
                      "tokens": {"pad": 0}})",
      .fields = joined(
          {kBertFields, {{.config = "max_position_embeddings", .spec = "max_positions", .required = true}}}),
      .fixed = {{"is_decoder", "false"}},
      .prefixes = {"bert.", ""},
      .names = joined({kBertNames,
                       kTaskNames,
                       {{"classifier", "classifier", NameRow::bare},
                        {"next_sentence", "cls.seq_relationship", NameRow::bare},
                        {"mlm", "cls.predictions", NameRow::bare},
                        {"mlm.decoder", "cls.predictions.decoder", NameRow::bare},
                        {"mlm.transform", "cls.predictions.transform.dense", NameRow::bare},
                        {"mlm.norm", "cls.predictions.transform.LayerNorm", NameRow::bare}}}),
      .ignored_tensors = {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias",
                          "cls.predictions.decoder.weight", "cls.predictions.decoder.bias",
                          "cls.predictions.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias"},
  };
}

Family make_roberta() {
  Family family = make_bert();
  family.model_type = "roberta";
  family.architectures = {{"RobertaForMaskedLM", kBertMaskedLm},
                          {"RobertaForSequenceClassification", kRobertaClasses},
                          {"RobertaForTokenClassification", kTokenClasses},
                          {"RobertaForQuestionAnswering", kSpans, kNoDropout},
                          {"RobertaForMultipleChoice", kBertChoices},
                          {"RobertaModel", kBertNoHead}};
  family.defaults = R"({"norm": {"place": "post", "eps": 1e-12, "final": false, "embedding": true},
                        "ffn": {"activation": "gelu_erf"},
                        "embedding": {"token_types": 2, "frozen_padding": true},
                        "positions": {"counted": true, "offset": 1},
                        "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1, "classifier": 0.1},
                        "tokens": {"bos": 0, "pad": 1, "eos": 2}})";
  // The table holds two rows more than there are positions: the padding's, and one before it.
  family.fields = joined(
      {kBertFields,
       {{.config = "max_position_embeddings", .spec = "max_positions", .required = true, .plus = -2}}});
  family.prefixes = {"roberta.", ""};
  family.names = joined({kBertNames,
                         kTaskNames,
                         {{"classifier", "classifier.out_proj", NameRow::bare},
                          {"classifier.dense", "classifier.dense", NameRow::bare},
                          {"mlm", "lm_head", NameRow::bare},
                          {"mlm.decoder", "lm_head.decoder", NameRow::bare},
                          {"mlm.transform", "lm_head.dense", NameRow::bare},
                          {"mlm.norm", "lm_head.layer_norm", NameRow::bare}}});
  family.ignored_tensors = {"embeddings.position_ids", "pooler.dense.weight",  "pooler.dense.bias",
                            "lm_head.decoder.weight",  "lm_head.decoder.bias", "lm_head.bias"};
  return family;
}

/// RoBERTa for many languages: the same model with another tokenizer.
Family make_xlm_roberta() {
  Family family = make_roberta();
  family.model_type = "xlm-roberta";
  family.architectures = {{"XLMRobertaForMaskedLM", kBertMaskedLm},
                          {"XLMRobertaForSequenceClassification", kRobertaClasses},
                          {"XLMRobertaForTokenClassification", kTokenClasses},
                          {"XLMRobertaForQuestionAnswering", kSpans, kNoDropout},
                          {"XLMRobertaForMultipleChoice", kBertChoices},
                          {"XLMRobertaModel", kBertNoHead}};
  return family;
}

/// RoBERTa for French.
Family make_camembert() {
  Family family = make_roberta();
  family.model_type = "camembert";
  family.architectures = {{"CamembertForMaskedLM", kBertMaskedLm},
                          {"CamembertForSequenceClassification", kRobertaClasses},
                          {"CamembertForTokenClassification", kTokenClasses},
                          {"CamembertForQuestionAnswering", kSpans, kNoDropout},
                          {"CamembertForMultipleChoice", kBertChoices},
                          {"CamembertModel", kBertNoHead}};
  return family;
}

/// A width of its own for all embeddings.
const std::vector<FieldRow> kEmbeddingWidth = {
    {.config = "embedding_size", .spec = "embedding.width", .required = true},
    {.config = "max_position_embeddings", .spec = "max_positions", .required = true}};

Family make_electra() {
  Family family = make_bert();
  family.model_type = "electra";
  family.architectures = {
      {"ElectraForMaskedLM", kBertMaskedLm},
      {"ElectraForSequenceClassification",
       R"({"head": {"kind": "sequence_classes", "dense": true, "dense_activation": "gelu_erf",
                                        "dense_dropout": true, "classes": 2}})"},
      {"ElectraModel", R"({"head": {"kind": "none"}})"}};
  family.defaults = R"({"norm": {"place": "post", "eps": 1e-12, "final": false, "embedding": true},
                        "ffn": {"activation": "gelu_erf"},
                        "embedding": {"token_types": 2, "frozen_padding": true, "projected_last": true},
                        "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1, "classifier": 0.1},
                        "tokens": {"pad": 0}})";
  family.fields = joined({kBertFields, kEmbeddingWidth});
  family.fixed = {{"is_decoder", "false"}, {"summary_type", R"("first")"}};
  family.prefixes = {"electra.", ""};
  family.names = joined({kBertNames,
                         kTaskNames,
                         {{"encoder.project_in", "embeddings_project"},
                          {"classifier.dense", "classifier.dense", NameRow::bare},
                          {"classifier", "classifier.out_proj", NameRow::bare},
                          {"mlm", "generator_lm_head", NameRow::bare},
                          {"mlm.decoder", "generator_lm_head", NameRow::bare},
                          {"mlm.transform", "generator_predictions.dense", NameRow::bare},
                          {"mlm.norm", "generator_predictions.LayerNorm", NameRow::bare}}});
  family.ignored_tensors = {"embeddings.position_ids", "generator_lm_head.weight"};
  return family;
}

#define SMELT_ALBERT_BLOCK "encoder.albert_layer_groups.0.albert_layers.0"

/// BERT whose blocks are all the same one: their names have no number.
Family make_albert() {
  Family family = make_bert();
  family.model_type = "albert";
  family.architectures = {{"AlbertForMaskedLM", kBertMaskedLm},
                          {"AlbertForSequenceClassification", kBertClasses},
                          {"AlbertForTokenClassification", kTokenClasses},
                          {"AlbertForQuestionAnswering", kSpans, kNoDropout},
                          {"AlbertForMultipleChoice", kBertChoices},
                          {"AlbertModel", kBertNoHead}};
  family.defaults = R"({"norm": {"place": "post", "eps": 1e-12, "final": false, "embedding": true},
                        "ffn": {"activation": "gelu_tanh"},
                        "embedding": {"token_types": 2, "frozen_padding": true, "projected_last": true,
                                      "always_projected": true},
                        "dropout": {"classifier": 0.1},
                        "tokens": {"bos": 2, "eos": 3, "pad": 0}})";
  family.fields = joined({kBertFields, kEmbeddingWidth});
  for (FieldRow& row : family.fields)
    if (row.spec == "dropout.classifier") row.config = "classifier_dropout_prob", row.also_called = {};
  family.fixed = {{"num_hidden_groups", "1"}, {"inner_group_num", "1"}};
  family.prefixes = {"albert.", ""};
  family.names = renamed(kBertNames, {{"encoder.project_in", "encoder.embedding_hidden_mapping_in"},
                                      {"encoder.{}", SMELT_ALBERT_BLOCK},
                                      {"encoder.{}.attention", SMELT_ALBERT_BLOCK ".attention"},
                                      {"encoder.{}.attention.query", SMELT_ALBERT_BLOCK ".attention.query"},
                                      {"encoder.{}.attention.key", SMELT_ALBERT_BLOCK ".attention.key"},
                                      {"encoder.{}.attention.value", SMELT_ALBERT_BLOCK ".attention.value"},
                                      {"encoder.{}.attention.out", SMELT_ALBERT_BLOCK ".attention.dense"},
                                      {"encoder.{}.norm_1", SMELT_ALBERT_BLOCK ".attention.LayerNorm"},
                                      {"encoder.{}.ffn", SMELT_ALBERT_BLOCK ".ffn_layers"},
                                      {"encoder.{}.ffn.up", SMELT_ALBERT_BLOCK ".ffn"},
                                      {"encoder.{}.ffn.down", SMELT_ALBERT_BLOCK ".ffn_output"},
                                      {"encoder.{}.norm_2", SMELT_ALBERT_BLOCK ".full_layer_layer_norm"},
                                      {"pooler", "pooler"},
                                      {"classifier", "classifier", NameRow::bare},
                                      {"mlm", "predictions", NameRow::bare},
                                      {"mlm.decoder", "predictions.decoder", NameRow::bare},
                                      {"mlm.transform", "predictions.dense", NameRow::bare},
                                      {"mlm.norm", "predictions.LayerNorm", NameRow::bare}});
  family.names = joined({family.names, kTaskNames});
  family.ignored_tensors = {
      "embeddings.position_ids",  "pooler.weight",   "pooler.bias", "predictions.decoder.weight",
      "predictions.decoder.bias", "predictions.bias"};
  return family;
}

#undef SMELT_ALBERT_BLOCK

Family make_distilbert() {
  return {
      .model_type = "distilbert",
      .architectures =
          {{"DistilBertForMaskedLM", kBertMaskedLm},
           {"DistilBertForSequenceClassification",
            R"({"head": {"kind": "sequence_classes", "dense": true, "dense_activation": "relu",
                                      "classes": 2}})"},
           {"DistilBertForTokenClassification",
            R"({"head": {"kind": "token_classes", "classes": 2}, "dropout": {"classifier": 0.1}})",
            {{.config = "dropout", .spec = "dropout.classifier"}}},
           {"DistilBertForQuestionAnswering",
            R"({"head": {"kind": "spans"}, "dropout": {"classifier": 0.1}})",
            {{.config = "qa_dropout", .spec = "dropout.classifier"}}},
           {"DistilBertForMultipleChoice",
            R"({"head": {"kind": "choices", "dense": true, "dense_activation": "relu"}})"},
           {"DistilBertModel", R"({"head": {"kind": "none"}})"}},
      .defaults = R"({"norm": {"place": "post", "eps": 1e-12, "final": false, "embedding": true},
                      "ffn": {"activation": "gelu_erf"},
                      "embedding": {"frozen_padding": true},
                      "dropout": {"embedding": 0.1, "residual": 0.1, "attention": 0.1, "classifier": 0.2},
                      "tokens": {"pad": 0}})",
      .fields = {{.config = "vocab_size", .spec = "vocab_size", .required = true},
                 {.config = "dim", .spec = "hidden", .required = true},
                 {.config = "n_layers", .spec = "encoder.layers", .required = true},
                 {.config = "n_heads", .spec = "encoder.heads", .required = true},
                 {.config = "hidden_dim", .spec = "encoder.ffn", .required = true},
                 {.config = "max_position_embeddings", .spec = "max_positions", .required = true},
                 {.config = "activation", .spec = "ffn.activation", .spellings = &kActivations},
                 {.config = "dropout", .spec = "dropout.embedding"},
                 {.config = "dropout", .spec = "dropout.residual"},
                 {.config = "attention_dropout", .spec = "dropout.attention"},
                 {.config = "seq_classif_dropout", .spec = "dropout.classifier"},
                 {.config = "initializer_range", .spec = "init.deviation"},
                 {.config = "tie_word_embeddings", .spec = "head.tied"},
                 {.config = "id2label", .spec = "head.classes", .counted = true},
                 {.config = "problem_type", .spec = "head.problem", .spellings = &kProblems},
                 {.config = "pad_token_id", .spec = "tokens.pad"}},
      .synonyms = {{"hidden_size", "dim"},
                   {"num_hidden_layers", "n_layers"},
                   {"num_attention_heads", "n_heads"}},
      .fixed = {{"sinusoidal_pos_embds", "false"}},  // they would be frozen
      .prefixes = {"distilbert.", ""},
      .names = joined({kTaskNames,
                       {{"embedding.tokens", "embeddings.word_embeddings"},
                        {"encoder.positions", "embeddings.position_embeddings"},
                        {"encoder.embedding_norm", "embeddings.LayerNorm"},
                        {"encoder.{}", "transformer.layer.{}"},
                        {"encoder.{}.attention", "transformer.layer.{}.attention"},
                        {"encoder.{}.attention.query", "transformer.layer.{}.attention.q_lin"},
                        {"encoder.{}.attention.key", "transformer.layer.{}.attention.k_lin"},
                        {"encoder.{}.attention.value", "transformer.layer.{}.attention.v_lin"},
                        {"encoder.{}.attention.out", "transformer.layer.{}.attention.out_lin"},
                        {"encoder.{}.norm_1", "transformer.layer.{}.sa_layer_norm"},
                        {"encoder.{}.ffn", "transformer.layer.{}.ffn"},
                        {"encoder.{}.ffn.up", "transformer.layer.{}.ffn.lin1"},
                        {"encoder.{}.ffn.down", "transformer.layer.{}.ffn.lin2"},
                        {"encoder.{}.norm_2", "transformer.layer.{}.output_layer_norm"},
                        {"classifier.dense", "pre_classifier", NameRow::bare},
                        {"classifier", "classifier", NameRow::bare},
                        {"mlm", "vocab_projector", NameRow::bare},
                        {"mlm.decoder", "vocab_projector", NameRow::bare},
                        {"mlm.transform", "vocab_transform", NameRow::bare},
                        {"mlm.norm", "vocab_layer_norm", NameRow::bare}}}),
      .ignored_tensors = {"vocab_projector.weight"},
  };
}

}  // namespace

const Family& bert_family() {
  static const Family family = make_bert();
  return family;
}

const Family& roberta_family() {
  static const Family family = make_roberta();
  return family;
}

const Family& xlm_roberta_family() {
  static const Family family = make_xlm_roberta();
  return family;
}

const Family& camembert_family() {
  static const Family family = make_camembert();
  return family;
}

const Family& electra_family() {
  static const Family family = make_electra();
  return family;
}

const Family& albert_family() {
  static const Family family = make_albert();
  return family;
}

const Family& distilbert_family() {
  static const Family family = make_distilbert();
  return family;
}

}  // namespace smelt
