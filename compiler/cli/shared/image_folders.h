// ImageFolders: the sources of images of a command, and their division into training and held-back data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/encoded_rows.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/read_data.h"
#include "frontend/data/images/image_files.h"
#include "frontend/data/images/image_folder.h"

namespace smelt::cli {

struct ImageFoldersOptions {
  std::vector<std::string> data, validation;  // directories, patterns or files
  std::string label_field;                    // column of a metadata table; empty: "label"
  BadRows bad_rows = BadRows::stop;
  double held_back = 0.05;  // share that is held back, if there is no validation
};

/// Returns the form of the images that a model takes; nothing if it takes none.
std::optional<ImageShape> image_shape(const Model& model);

/// Returns the directory with the preprocessor_config.json and the names of the classes of a model; for a
/// plan, that of --weights. Throws Error if a plan has no weights of a model's directory.
std::filesystem::path image_directory(const Model& model);

class ImageFolders : public ReadData {
 public:
  /// Lists and checks all images. Throws Error with the file's name for one that cannot be used, unless
  /// BadRows::skip.
  ImageFolders(const Model& model, ImageFoldersOptions options);

  const std::vector<std::string>& class_names() const override { return class_names_; }
  DataSplit split(const PlanEntry& entry, const Symbols& symbols, int64_t vocabulary) const override;
  std::string summary() const override;

 private:
  using Listed = std::vector<LabelledImage>;
  Listed list(const std::vector<std::string>& arguments);
  void number_classes(const Model& model, const std::vector<const Listed*>& lists);
  std::optional<int32_t> class_of(const LabelledImage& image) const;
  std::string without_class(const LabelledImage& image) const;
  std::vector<ImageFile> find(const Listed& images);
  std::vector<ImageFile> checked(const Listed& images);
  void skip(const std::string& fault);
  ImageRange range(std::vector<ImageFile> files, const PlanEntry& entry, const std::string& source) const;

  ImageFoldersOptions options_;
  ImageShape shape_;
  ImageProcessor processor_;
  int64_t classes_ = 0;  // of the model; 0: not known
  std::vector<std::string> class_names_;
  std::vector<ImageFile> train_, validation_;
  int64_t skipped_ = 0;
  std::string first_skipped_;
  int64_t others_ = 0;  // files with the ending of no image
  std::string first_other_;
};

}  // namespace smelt::cli
