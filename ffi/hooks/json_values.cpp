// Values of templates, from JSON that came in with a request.

#include "json_values.h"

#include "jinja/value.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

using jinja::mk_val;
using jinja::value;
using jinja::value_array;
using jinja::value_object;
using jinja::value_string;

namespace {

// Takes the events of nlohmann's reader.
class value_reader {
  public:
    value root;

    bool null() { return add(mk_val<jinja::value_none>()); }
    bool boolean(bool is) { return add(mk_val<jinja::value_bool>(is)); }
    bool number_integer(int64_t number) { return add(mk_val<jinja::value_int>(number)); }
    bool number_unsigned(uint64_t number) {
        if (number > INT64_MAX) return add(mk_val<jinja::value_float>((double) number));
        return add(mk_val<jinja::value_int>((int64_t) number));
    }
    bool number_float(double number, const std::string &) { return add(mk_val<jinja::value_float>(number)); }
    bool string(const std::string & text) { return add(marked(text)); }
    bool binary(const std::vector<uint8_t> &) { return false; }  // JSON has none
    bool start_object(size_t) { return open(mk_val<value_object>()); }
    bool start_array(size_t) { return open(mk_val<value_array>()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(const std::string & name) {
        around.back().key = marked(name);
        return true;
    }

    bool parse_error(size_t, const std::string &, const nlohmann::json::exception & error) { throw std::runtime_error(error.what()); }

  private:
    // A list or an object that is being read.
    struct place {
        value container;
        jinja::value_object_t * object;  // none: a list
        value key;  // of an object's next value
    };
    std::vector<place> around;

    static value marked(const std::string & text) {
        jinja::string out(text, true);
        out.parts.seal();  // lists of tools are kept
        return mk_val<value_string>(std::move(out));
    }

    bool add(value one) {
        if (around.empty()) {
            root = std::move(one);
            return true;
        }
        place & in = around.back();
        if (in.object == nullptr) {
            in.container->val_arr.push_back(std::move(one));
        } else if (in.object->unordered.try_emplace(in.key, one).second) {
            in.object->val_obj.emplace_back(std::move(in.key), std::move(one));
        } else {
            in.object->insert(in.key, one);  // the name again
        }
        return true;
    }

    bool open(const value & container) {
        constexpr size_t nested_max = 500;  // as of other values: they are released by recursion
        if (around.size() >= nested_max) throw std::runtime_error("the text is nested more than " + std::to_string(nested_max) + " deep");
        add(container);
        around.push_back({container, dynamic_cast<jinja::value_object_t *>(container.get()), nullptr});
        return true;
    }

    bool close() {
        around.pop_back();
        return true;
    }
};

}  // namespace

svc::jinja_value svc::marked_values(const std::string & text) {
    value_reader reader;
    nlohmann::json::sax_parse(text, &reader);
    return reader.root;
}
