// The parts of a string of the template engine (common/jinja/string.h): a vector whose copies share their elements.
//
// Templates build a long text by `set text = text + more`, for each tool or message, and the engine copies strings with their values.
// With a plain vector that takes quadratic time. Here a copy shares the elements, and appending to the copy appends in place where
// no other copy has done so: the others do not see more than their own number of elements. All other changes copy first.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace svc {

template <class T>
class shared_parts {
  public:
    // By index: appending to a copy may move the elements meanwhile.
    class const_iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T *;
        using reference = const T &;

        const_iterator() = default;
        const_iterator(const shared_parts & parts, size_t at) : parts(&parts), at(at) {}
        reference operator*() const { return (*parts)[at]; }
        pointer operator->() const { return &(*parts)[at]; }
        const_iterator & operator++() {
            at++;
            return *this;
        }
        const_iterator operator++(int) {
            const const_iterator before = *this;
            at++;
            return before;
        }
        bool operator==(const const_iterator & other) const { return at == other.at; }
        bool operator!=(const const_iterator & other) const { return at != other.at; }

      private:
        const shared_parts * parts = nullptr;
        size_t at = 0;
    };
    using iterator = typename std::vector<T>::iterator;

    shared_parts() = default;
    shared_parts(const shared_parts &) = default;
    shared_parts & operator=(const shared_parts &) = default;
    shared_parts(shared_parts && other) noexcept : elements(std::move(other.elements)), n(other.n) { other.n = 0; }
    shared_parts & operator=(shared_parts && other) noexcept {
        elements = std::move(other.elements);
        n = other.n;
        if (this != &other) other.n = 0;
        return *this;
    }

    bool empty() const { return n == 0; }
    size_t size() const { return n; }
    const T & operator[](size_t i) const { return (*elements)[i]; }
    const T & back() const { return (*elements)[n - 1]; }
    const_iterator begin() const { return {*this, 0}; }
    const_iterator end() const { return {*this, n}; }

    T & operator[](size_t i) { return own()[i]; }
    T & back() { return own().back(); }
    iterator begin() { return own().begin(); }
    iterator end() { return own().end(); }

    void push_back(T part) {
        if (elements == nullptr || elements->size() != n) own();
        elements->push_back(std::move(part));
        n++;
    }

    // Whether appending copies none of the elements.
    bool appends_in_place() const { return elements == nullptr || elements->size() == n; }

    // Makes copies copy before they append: for what outlives a request, which must not keep what a request appends, nor be changed by
    // several threads.
    void seal() {
        own().emplace_back();  // which belongs to no copy
    }

    void resize(size_t size) {
        own().resize(size);
        n = size;
    }

    iterator erase(iterator at) {
        n--;
        return elements->erase(at);
    }

    template <class It>
    iterator insert(iterator at, It first, It last) {
        const iterator inserted = elements->insert(at, first, last);
        n = elements->size();
        return inserted;
    }

  private:
    std::shared_ptr<std::vector<T>> elements;
    size_t n = 0;  // those of `elements` behind belong to copies

    std::vector<T> & own() {
        if (elements == nullptr) {
            elements = std::make_shared<std::vector<T>>();
        } else if (elements.use_count() > 1) {
            elements = std::make_shared<std::vector<T>>(elements->begin(), elements->begin() + (std::ptrdiff_t) n);
        } else if (elements->size() > n) {
            elements->resize(n);
        }
        return *elements;
    }
};

}  // namespace svc
