// What a basket costs.
exports.total = (prices) => {
  /* Nothing
     is free. */
  if (prices.length === 0) {
    return 0;
  }
  return prices.reduce((sum, price) => sum + price);
};

exports.label = (name) => {
  // As on the shelf.
  return name.toUpperCase();
};
