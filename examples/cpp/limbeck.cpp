// A reader of Limbeck's model folders, after docs/format.md: students of words and n-grams, pairs, blends.
//
//   limbeck MODEL < texts.txt                  a line in, a label out; the two texts of a pair are split by a tab
//   limbeck MODEL --check vectors.json         tokens, labels and logits against those of `limbeck vectors`
//
// Needs onnxruntime (its C++ headers and its library) and ICU. Transformers, and texts cut by jieba, are refused.

#include <onnxruntime_cxx_api.h>

#include <chrono>
#include <cmath>
#include <iostream>

#include "json.hpp"
#include "tokenizers.hpp"

using Logits = std::vector<float>;

// ---- Models -------------------------------------------------------------------------------------------------------

class Network {
public:
    Network(const std::string& folder, const Json& facts) : max_length_(int(facts.at("max_length").value)) {
        if (const Json* kind = facts.find("tokenizer"); kind && !kind->is("words")) throw std::runtime_error("it is a transformer, which this reader does not read");
        const Json state = json_of(folder + "/tokenizer.json");
        if (const Json* settings = state.find("ngrams")) tokenizer_ = std::make_unique<NgramTokenizer>(*settings, max_length_);
        else tokenizer_ = std::make_unique<WordTokenizer>(state, max_length_);
        Ort::SessionOptions options;
        options.SetIntraOpNumThreads(1);
        session_ = std::make_unique<Ort::Session>(env(), (folder + "/model.onnx").c_str(), options);
    }

    std::vector<Ids> tokens(const Texts& row) const {
        std::vector<Ids> columns;
        for (const auto& text : row) {
            columns.push_back(tokenizer_->read(stripped(text)));
            if (columns.back().empty()) columns.back() = {1};
        }
        return columns;
    }

    Logits logits(std::vector<Ids> columns) const {
        const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
        const char* names[] = {"input_ids", "lengths", "pair_ids", "pair_lengths"};
        std::vector<std::vector<int32_t>> lengths(columns.size());
        std::vector<Ort::Value> inputs;
        for (size_t at = 0; at < columns.size(); ++at) {
            const int64_t shape[] = {1, int64_t(columns[at].size())};
            lengths[at] = {int32_t(columns[at].size())};
            inputs.push_back(Ort::Value::CreateTensor<int64_t>(memory, columns[at].data(), columns[at].size(), shape, 2));
            inputs.push_back(Ort::Value::CreateTensor<int32_t>(memory, lengths[at].data(), 1, shape, 1));
        }
        const char* wanted[] = {"logits"};
        auto found = session_->Run(Ort::RunOptions{}, names, inputs.data(), inputs.size(), wanted, 1);
        const float* numbers = found[0].GetTensorData<float>();
        return {numbers, numbers + found[0].GetTensorTypeAndShapeInfo().GetElementCount()};
    }

private:
    int max_length_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::unique_ptr<Ort::Session> session_;

    static Ort::Env& env() { static Ort::Env one(ORT_LOGGING_LEVEL_ERROR); return one; }
};

double number_or(const Json& facts, const char* name, double otherwise) {
    const Json* found = facts.find(name);
    return found ? found->value : otherwise;
}

class Model {
public:
    explicit Model(const std::string& folder) : facts_(json_of(folder + "/model.json")) {
        const Json* members = facts_.find("members");
        if (!members) {
            add(folder, facts_, 1);
            return;
        }
        for (const Json& member : members->items) {
            const std::string inside = folder + "/" + member.at("folder").utf8();
            const Json its = json_of(inside + "/model.json");
            add(inside, its, float(member.at("weight").value / number_or(its, "temperature", 1)));
        }
    }

    bool is_pair() const { return facts_.at("pair").value; }

    std::vector<std::vector<Ids>> tokens(const Texts& row) const {
        std::vector<std::vector<Ids>> found;
        for (const auto& network : networks_) found.push_back(network->tokens(row));
        return found;
    }

    Logits logits(const Texts& row) const {
        Logits total;
        for (size_t at = 0; at < networks_.size(); ++at) {
            const Logits own = networks_[at]->logits(networks_[at]->tokens(row));
            total.resize(own.size());
            for (size_t place = 0; place < own.size(); ++place) total[place] += own[place] * factors_[at];
        }
        return total;
    }

    // The most probable label; with several labels per row all that apply.
    std::string decision(const Logits& logits) const {
        const auto& labels = facts_.at("labels").items;
        std::string found;
        if (number_or(facts_, "multi_label", 0)) {
            for (size_t at = 0; at < labels.size(); ++at)
                if (logits[at] >= 0) found += (found.empty() ? "" : ",") + labels[at].utf8();
            return found;
        }
        return labels[size_t(std::max_element(logits.begin(), logits.end()) - logits.begin())].utf8();
    }

private:
    Json facts_;
    std::vector<std::unique_ptr<Network>> networks_;
    std::vector<float> factors_;

    void add(const std::string& folder, const Json& facts, float factor) {
        networks_.push_back(std::make_unique<Network>(folder, facts));
        factors_.push_back(factor);
    }
};

// ---- The command --------------------------------------------------------------------------------------------------

Texts texts_of(const Json& row) {
    if (row.kind == Json::string) return {row.text};
    return {row.items[0].text, row.items[1].text};
}

std::vector<std::vector<Ids>> numbers_of(const Json& tokens) {
    std::vector<std::vector<Ids>> found;
    for (const Json& network : tokens.items) {
        found.emplace_back();
        for (const Json& column : network.items) {
            found.back().emplace_back();
            for (const Json& id : column.items) found.back().back().push_back(int64_t(id.value));
        }
    }
    return found;
}

int compare(const Model& model, const Json& vectors) {
    size_t other_tokens = 0, other_labels = 0;
    double largest = 0, spent = 0;
    const auto& rows = vectors.at("rows").items;
    for (const Json& vector : rows) {
        const Texts row = texts_of(vector.at("row"));
        const auto started = std::chrono::steady_clock::now();
        const Logits own = model.logits(row);
        spent += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
        if (model.tokens(row) != numbers_of(vector.at("tokens"))) {
            ++other_tokens;
            continue;
        }
        Logits wanted;
        for (const Json& logit : vector.at("logits").items) wanted.push_back(float(logit.value));
        for (size_t at = 0; at < own.size(); ++at) largest = std::max(largest, double(std::abs(own[at] - wanted[at])));
        other_labels += model.decision(own) != model.decision(wanted);
    }
    const bool conforms = !other_tokens && other_labels <= 0.005 * double(rows.size()) && largest <= vectors.at("tolerance").value;
    std::cout << "{\"rows\": " << rows.size() << ", \"other_tokens\": " << other_tokens << ", \"other_labels\": " << other_labels
              << ", \"largest_difference\": " << largest << ", \"ms_per_row\": " << spent / double(rows.size())
              << ", \"conforms\": " << (conforms ? "true" : "false") << "}\n";
    return conforms ? 0 : 1;
}

int main(int count, char** arguments) {
    try {
        if (count < 2) throw std::runtime_error("say which model: limbeck MODEL < texts.txt");
        const Model model(arguments[1]);
        if (count == 4 && std::string(arguments[2]) == "--check") return compare(model, json_of(arguments[3]));
        for (std::string line; std::getline(std::cin, line);) {
            const UnicodeString text = UnicodeString::fromUTF8(line);
            const int tab = text.indexOf(u'\t');
            const Texts row = model.is_pair() ? Texts{text.tempSubString(0, std::max(0, tab)), text.tempSubString(tab + 1)} : Texts{text};
            std::cout << model.decision(model.logits(row)) << "\n";
        }
    } catch (const std::exception& error) {
        std::cerr << "limbeck: " << error.what() << "\n";
        return 2;
    }
}
