/* model.h - what a backward pass makes gradients of: the parameter tensors of a neural network, in
 * the order in which its framework registers them, and how much work the gradient of each takes.
 *
 *   article    20 equal layers of 5 MiB: with a cap of 25 MiB four buckets of five. (The article's
 *              own picture, 4 + 4 + 4 + 8 layers, can come from no single cap: five layers of
 *              25/4 MiB each would have to fit where four close a bucket.)
 *   mlp        the network of PyTorch's quickstart tutorial: 784 -> 512 -> 512 -> 10
 *   resnet18, resnet50   He et al., "Deep Residual Learning for Image Recognition", 2015; names and
 *              order as in torchvision
 *   gpt2       the 124M model of Radford et al., "Language Models are Unsupervised Multitask
 *              Learners", 2019; names and order as in Hugging Face's transformers, the output
 *              layer tied to wte
 *
 * Work: a multiplication of activations with a weight matrix costs 2 FLOP per weight and use, and a
 * backward pass makes two of them, one for the weights' gradient and one for the inputs'. So 4 FLOP
 * per weight and use: a use is an output position of a convolution (224 x 224 images), a token (of
 * 1024) or a sample; equal layers are used 64 times. Normalisations and biases are counted
 * likewise; that is too much for them, and little all the same.
 */
#ifndef OVERLAP_MODEL_H
#define OVERLAP_MODEL_H

#include <stdint.h>

#include "common/status.h"

#define MODEL_NAME_SIZE 64

struct tensor {
    char name[MODEL_NAME_SIZE];
    int64_t count; /* elements */
    int layer;     /* index into model.layers */
};

struct layer { /* a module: tensors that follow each other */
    char name[MODEL_NAME_SIZE];
    int first, n;  /* tensors */
    int64_t count; /* elements of all of them */
    double flop;   /* backward, per sample */
};

struct model {
    char name[MODEL_NAME_SIZE];
    struct tensor *tensors; /* owned; in registration order */
    int64_t n_tensors, tensors_capacity;
    struct layer *layers;   /* owned */
    int64_t n_layers, layers_capacity;
    int64_t count;          /* elements of all tensors */
};

/* One of the above, by name. STATUS_USAGE: there is none such. */
enum status model_open(struct model *model, const char *name, struct error *err);

/* --layers: "20x6.25MiB" (layers of one tensor of 4-byte elements; B, KiB, MiB or GiB), or a file
 * with a line for each tensor: NAME COUNT [FLOP]; # begins a comment. The layer of "a.b.weight" is
 * "a.b"; without FLOP 4 per element are taken. STATUS_USAGE: cannot be read, names the line, or
 * two tensors have one name. */
enum status model_open_layers(struct model *model, const char *text, struct error *err);

void model_free(struct model *model); /* also of a zeroed one */

#endif
