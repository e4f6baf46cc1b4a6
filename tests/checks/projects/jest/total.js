exports.total = (prices) => prices.reduce((sum, price) => sum + price, 1);
exports.label = (item) => item.name.toUpperCase();
